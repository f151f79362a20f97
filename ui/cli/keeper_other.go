//go:build !unix

package cli

import "errors"

// keepCommand is none here: what happens to a terminal whose console was killed is
// the system's matter.
const keepCommand = ""

type keeper struct{}

func startKeeper(*screen, func(func())) (*keeper, error) { return nil, errors.ErrUnsupported }

func (*keeper) tell(byte) {}
func (*keeper) letGo()    {}

func keepTerminal() int { return exitUsage }
