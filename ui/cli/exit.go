package cli

import "aipscope/model"

// Exit codes (docs: README, "Exit codes"). Those from 10 on are verdicts.
const (
	exitOK          = 0
	exitFailed      = 1 // the console itself failed
	exitUsage       = 2 // wrong usage, or a request that fails its check
	exitRefused     = 17
	exitPending     = 124
	exitInterrupted = 130
)

// exitOf is the exit code of a verdict at the end of a watch.
func exitOf(word model.Word) int {
	switch word {
	case model.Accepted:
		return exitOK
	case model.Unconfirmed:
		return 10
	case model.Partial:
		return 11
	case model.Failed:
		return 12
	case model.Cancelled:
		return 13
	case model.Incomplete:
		return 14
	case model.Contradicted:
		return 15
	case model.AwaitingApproval:
		return 16
	}
	return exitPending
}

// exitCodes are all of them, with what they mean, in the manual.
var exitCodes = []struct {
	code  int
	means string
}{
	{exitOK, "accepted; or a command that watches nothing did what it was asked"},
	{exitFailed, "the console itself failed"},
	{exitUsage, "wrong usage, or a request that fails its check"},
	{exitOf(model.Unconfirmed), "unconfirmed"},
	{exitOf(model.Partial), "partial"},
	{exitOf(model.Failed), "failed"},
	{exitOf(model.Cancelled), "cancelled"},
	{exitOf(model.Incomplete), "incomplete"},
	{exitOf(model.Contradicted), "contradicted"},
	{exitOf(model.AwaitingApproval), "awaiting approval at --timeout"},
	{exitRefused, "refused: credentials or scope"},
	{exitPending, "still pending at --timeout"},
	{exitInterrupted, "interrupted, or left before the verdict"},
}
