//go:build race

package turntest

// Racing tells that the race detector is on: what samples may take fewer, for
// everything costs several times as much.
const Racing = true
