// Package model says what a turn is and what may be believed about it.
//
// A Turn is folded from the rows of an action's journal: chunks become text,
// tools, identifiers and a finish; a result settles it. The same rows give the
// same turn, whether they come live, from the journal or from an export, and in
// batches of any size. The Verdict is worked out from the turn alone, each part
// of it with the condition and the chunk that it rests on.
//
// The package is pure: no I/O, no clock, no terminal.
package model
