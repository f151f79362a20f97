package hermes

import "encoding/json"

type CheckOptions struct{ Capability, IdempotencyKey, Mode string }
type Finding struct{ Field, Rule string }

func (f Finding) String() string { return f.Field + ": " + f.Rule }
func Check(op Operation, input json.RawMessage, o CheckOptions) (e, w []Finding) { return nil, nil }
