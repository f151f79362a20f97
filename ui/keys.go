package ui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// intent is what a key means where it was pressed. Panes are told intents and
// never see a key.
type intent int

const (
	doNothing intent = iota
	doUp
	doDown
	doPageUp
	doPageDown
	doTop
	doBottom
	doNextPane
	doPrevPane
	doPane1
	doPane2
	doPane3
	doZoom
	doOpen
	doBack
	doEarlier
	doLater
	doReveal
	doRaw
	doFold
	doFreeze
	doVerdict
	doCancel
	doConfirm
	doAccept
	doToggle
	doSearch
	doFilter
	doNextHit
	doPrevHit
	doNoSearch
	doNoFilter
	doNow
	doPick
	doUnpick
	doNextView
	doPrevView
	doFoldNode
	doHelp
	doLeave
	doInterrupt
	doActions
	doNextAction
	doPrevAction
	doFilterList
	doReload
	doIdentity
	doPalette
	doCopy
	doSave
	doExport
	doSuspend
	doSubmit
	doAnswer
	doSessions
	doTranscript
	doMore
	doTree
	doMessage
	doFork
	doPatch
	doCreate
	doReconcile
	doResponse
	doDelete
)

// motion returns the movement that an intent is.
func (i intent) motion() (motion, bool) {
	switch i {
	case doUp:
		return moveUp, true
	case doDown:
		return moveDown, true
	case doPageUp:
		return movePageUp, true
	case doPageDown:
		return movePageDown, true
	case doTop:
		return moveTop, true
	case doBottom:
		return moveBottom, true
	}
	return 0, false
}

// place is a set of views in which a key means something.
type place uint

const (
	inPanes place = 1 << iota
	inChunk
	inTool
	inVerdict
	inHelp
	inCancel
	inConfirm
	inPrompt
	inActions
	inFilterList
	inIdentity
	inPalette
	inCopy
	inFile
	inExport
	inReport
	inNews
	inAsk
	inOffers
	inForm
	inReview
	inChoice
	inSessions
	inSessionFilter
	inTranscript

	inViews  = inPanes | inChunk | inTool | inVerdict | inIdentity | inReport
	inBrowse = inSessions | inTranscript
	inTexts  = inViews | inHelp | inActions | inNews | inBrowse

	inTyping = inCancel | inPrompt | inFilterList | inPalette | inFile | inExport | inAsk | inOffers | inForm | inSessionFilter // text is typed: keys that mean nothing else are part of it
)

// binding is one row of the key table.
type binding struct {
	intent intent
	key.Binding
	where place
	when  func(*Console) bool // nil: whenever in place
	short int                 // rank among the hints of the last line; 0 is not one of them
}

// bind makes a row. label is how the keys are written in the help.
func bind(i intent, where place, short int, label, help string, when func(*Console) bool, keys ...string) binding {
	return binding{i, key.NewBinding(key.WithKeys(keys...), key.WithHelp(label, help)), where, when, short}
}

// keyTable names every key of the console. The hints, the help overlay and the
// keys that work are this table and nothing else. The first row that fits wins.
var keyTable = []binding{
	bind(doInterrupt, ^place(0), 0, "ctrl+c", "leave, twice at once", nil, "ctrl+c"),
	bind(doSuspend, ^place(0), 0, "ctrl+z", "suspend; fg goes on", (*Console).maySuspend, "ctrl+z"),

	bind(doAccept, inCancel, 1, "enter", "cancel the action", (*Console).mayAskCancel, "enter"),
	bind(doBack, inCancel, 2, "esc", "back", nil, "esc"),

	bind(doUp, inConfirm, 0, "↑ k", "up", nil, "up", "k"),
	bind(doDown, inConfirm, 0, "↓ j", "down", nil, "down", "j"),
	bind(doToggle, inConfirm, 2, "space", "mark", nil, " "),
	bind(doAccept, inConfirm, 1, "enter", "confirm what is marked", (*Console).confirmMarked, "enter"),
	bind(doBack, inConfirm, 3, "esc", "back", nil, "esc", "q"),

	bind(doAccept, inPrompt, 1, "enter", "go", nil, "enter"),
	bind(doBack, inPrompt, 2, "esc", "back", nil, "esc"),
	bind(doUp, inPrompt, 0, "↑", "what was asked before", nil, "up"),
	bind(doDown, inPrompt, 0, "↓", "after that", nil, "down"),

	bind(doBack, inHelp, 1, "esc", "back", nil, "esc", "?", "q", "enter"),

	bind(doAccept, inPalette, 1, "enter", "do it", (*Console).mayAcceptWindow, "enter"),
	bind(doUp, inPalette, 0, "↑", "up", nil, "up"),
	bind(doDown, inPalette, 0, "↓", "down", nil, "down"),
	bind(doBack, inPalette, 2, "esc", "back", nil, "esc"),

	bind(doAccept, inCopy, 1, "enter", "to the clipboard", (*Console).mayAcceptWindow, "enter"),
	bind(doSave, inCopy, 2, "f", "to a file", (*Console).maySave, "f"),
	bind(doUp, inCopy, 0, "↑ k", "up", nil, "up", "k"),
	bind(doDown, inCopy, 0, "↓ j", "down", nil, "down", "j"),
	bind(doBack, inCopy, 3, "esc", "back", nil, "esc", "q"),

	bind(doAccept, inFile|inExport, 1, "enter", "write", (*Console).mayAcceptWindow, "enter"),
	bind(doToggle, inExport, 2, "tab", "masked or revealed", nil, "tab"),
	bind(doBack, inFile|inExport, 3, "esc", "back", nil, "esc"),

	bind(doAccept, inAsk, 1, "enter", "do it", (*Console).mayAcceptWindow, "enter"),
	bind(doUp, inAsk, 0, "↑ shift+tab", "up", nil, "up", "shift+tab"),
	bind(doDown, inAsk, 0, "↓ tab", "down", nil, "down", "tab"),
	bind(doBack, inAsk, 2, "esc", "back", nil, "esc"),

	bind(doAccept, inOffers, 1, "enter", "write the request", (*Console).mayAcceptWindow, "enter"),
	bind(doUp, inOffers, 0, "↑", "up", nil, "up"),
	bind(doDown, inOffers, 0, "↓", "down", nil, "down"),
	bind(doBack, inOffers, 2, "esc", "back", nil, "esc"),

	bind(doAccept, inForm, 1, "ctrl+s", "look at it", (*Console).mayAcceptWindow, "ctrl+s"),
	bind(doDown, inForm, 2, "tab", "next field", nil, "tab"),
	bind(doUp, inForm, 0, "shift+tab", "previous field", nil, "shift+tab"),
	bind(doToggle, inForm, 3, "space", "change", (*Console).onChoice, " "),
	bind(doDown, inForm, 0, "↓ enter", "next field", (*Console).onLine, "down", "enter"),
	bind(doUp, inForm, 0, "↑", "previous field", (*Console).onLine, "up"),
	bind(doBack, inForm, 4, "esc", "leave it for later", nil, "esc"),

	bind(doAccept, inReview, 1, "enter", "submit", (*Console).mayAcceptWindow, "enter"),
	bind(doUp, inReview, 0, "↑ k", "up", nil, "up", "k"),
	bind(doDown, inReview, 0, "↓ j", "down", nil, "down", "j"),
	bind(doPageUp, inReview, 0, "pgup", "page up", nil, "pgup"),
	bind(doPageDown, inReview, 0, "pgdn", "page down", nil, "pgdown"),
	bind(doBack, inReview, 2, "esc", "back to the fields", nil, "esc"),

	bind(doAccept, inChoice, 1, "enter", "choose", (*Console).mayAcceptWindow, "enter"),
	bind(doUp, inChoice, 0, "↑ k", "up", nil, "up", "k"),
	bind(doDown, inChoice, 0, "↓ j", "down", nil, "down", "j"),
	bind(doBack, inChoice, 2, "esc", "back", nil, "esc", "q"),

	bind(doOpen, inSessions, 1, "enter", "messages", (*Console).onSession, "enter"),
	bind(doBack, inSessions, 2, "esc", "clear the filter", (*Console).sessionsFiltered, "esc"),
	bind(doBack, inSessions, 2, "esc", "back", (*Console).sessionsPlain, "esc", "backspace"),
	bind(doBack, inTranscript, 1, "esc", "sessions", nil, "esc", "backspace"),
	bind(doReveal, inBrowse, 3, "r", "reveal", (*Console).browseMasked, "r"),
	bind(doReveal, inBrowse, 3, "r", "mask", (*Console).browseRevealed, "r"),
	bind(doMessage, inBrowse, 4, "m", "continue", (*Console).onSession, "m"),
	bind(doMore, inSessions, 5, "n", "next page", (*Console).mayMore, "n"),
	bind(doFork, inBrowse, 6, "f", "fork", (*Console).onSession, "f"),
	bind(doPatch, inBrowse, 12, "p", "change", (*Console).onSession, "p"),
	bind(doDelete, inBrowse, 12, "D", "delete", (*Console).onSession, "D"),
	bind(doTree, inSessions, 12, "t", "tree", (*Console).asList, "t"),
	bind(doTree, inSessions, 12, "t", "list", (*Console).asTree, "t"),
	bind(doFilterList, inSessions, 12, "/", "filter", nil, "/"),
	bind(doSessions, inSessions, 0, "S", "another endpoint", nil, "S"),
	bind(doCreate, inSessions, 12, "N", "new session", nil, "N"),
	bind(doReload, inBrowse, 12, "R", "read again", nil, "R"),
	bind(doAccept, inSessionFilter, 1, "enter", "keep the filter", nil, "enter"),
	bind(doBack, inSessionFilter, 2, "esc", "no filter", nil, "esc"),
	bind(doUp, inSessionFilter, 0, "↑", "up", nil, "up"),
	bind(doDown, inSessionFilter, 0, "↓", "down", nil, "down"),

	bind(doOpen, inActions, 1, "enter", "watch", (*Console).mayWatch, "enter"),
	bind(doBack, inActions, 2, "esc", "clear the filter", (*Console).mayClear, "esc"),
	bind(doBack, inActions, 2, "esc", "back", (*Console).mayReturn, "esc", "a", "backspace"),
	bind(doFilterList, inActions, 3, "/", "filter", nil, "/"),
	bind(doReload, inActions, 4, "R", "read again", nil, "R"),
	bind(doAccept, inFilterList, 1, "enter", "watch", (*Console).mayWatch, "enter"),
	bind(doBack, inFilterList, 2, "esc", "no filter", nil, "esc"),
	bind(doUp, inFilterList, 0, "↑", "up", nil, "up"),
	bind(doDown, inFilterList, 0, "↓", "down", nil, "down"),

	bind(doBack, inPanes, 1, "esc", "stay", (*Console).leaving, "esc"),
	bind(doUnpick, inPanes, 1, "esc", "stop pointing", (*Console).mayUnpick, "esc"),
	bind(doNow, inPanes, 1, "esc", "back to now", (*Console).lookingBack, "esc"),
	bind(doNoSearch, inPanes, 0, "esc", "end the search", (*Console).searched, "esc"),
	bind(doNoFilter, inPanes, 0, "esc", "end the filter", (*Console).filteredOnly, "esc"),
	bind(doCancel, inViews, 3, "c", "cancel", (*Console).mayCancel, "c"),
	bind(doCancel, inViews, 0, "c", "nothing left to cancel", (*Console).mayCancelNothing, "c"),
	bind(doNextPane, inPanes, 4, "tab", "pane", nil, "tab", "right", "l"),
	bind(doPrevPane, inPanes, 0, "shift+tab", "previous pane", nil, "shift+tab", "left", "h"),
	bind(doPane1, inPanes, 0, "1", "assistant", nil, "1"),
	bind(doPane2, inPanes, 0, "2", "tools", nil, "2"),
	bind(doPane3, inPanes, 0, "3", "chunks", nil, "3"),
	bind(doOpen, inPanes, 5, "enter", "open", (*Console).mayOpen, "enter"),
	bind(doPick, inPanes, 10, "enter", "point at a line", (*Console).mayPick, "enter"),
	bind(doOpen, inPanes, 2, "enter", "open its chunk", (*Console).picking, "enter"),
	bind(doOpen, inChunk, 5, "enter", "what it made", (*Console).mayOpenMade, "enter"),
	bind(doOpen, inTool, 5, "enter", "go to its first chunk", (*Console).mayOpenChunk, "enter"),
	bind(doEarlier, inPanes, 0, "[", "one chunk back in time", (*Console).mayTravel, "["),
	bind(doEarlier, inPanes, 2, "[", "earlier", (*Console).traveling, "["),
	bind(doLater, inPanes, 2, "]", "later", (*Console).mayGoOn, "]"),
	bind(doSearch, inPanes|inChunk, 12, "/", "search", (*Console).maySearch, "/"),
	bind(doNextHit, inPanes|inChunk, 5, "n", "next", (*Console).mayGoToHit, "n"),
	bind(doPrevHit, inPanes|inChunk, 0, "N", "previous found", (*Console).mayGoToHit, "N"),
	bind(doFilter, inPanes|inChunk, 0, "f", "filter", (*Console).mayFilter, "f"),
	bind(doNextView, inChunk, 6, "tab", "view", (*Console).hasViews, "tab"),
	bind(doPrevView, inChunk, 0, "shift+tab", "previous view", (*Console).hasViews, "shift+tab"),
	bind(doFoldNode, inChunk, 7, "space", "fold", (*Console).hasViews, " "),
	bind(doEarlier, inChunk, 4, "[", "earlier", nil, "[", "left", "h"),
	bind(doLater, inChunk, 4, "]", "later", nil, "]", "right", "l"),
	bind(doReveal, inChunk|inTool, 3, "r", "reveal", (*Console).masked, "r"),
	bind(doReveal, inChunk|inTool, 3, "r", "mask", (*Console).revealed, "r"),
	bind(doRaw, inChunk, 6, "b", "raw bytes", (*Console).pretty, "b"),
	bind(doRaw, inChunk, 6, "b", "as a tree", (*Console).rawShown, "b"),
	bind(doFold, inPanes, 6, "t", "thinking", (*Console).hasFolds, "t"),
	bind(doZoom, inPanes, 7, "z", "zoom", (*Console).mayZoom, "z"),
	bind(doFreeze, inPanes, 8, "space", "freeze", (*Console).mayFreeze, " "),
	bind(doFreeze, inPanes, 2, "space", "go on", (*Console).isFrozen, " "),
	bind(doConfirm, inPanes|inVerdict, 2, "e", "confirm", (*Console).mayConfirm, "e"),
	bind(doVerdict, inPanes|inChunk|inTool|inIdentity|inReport, 4, "v", "verdict", nil, "v"),
	bind(doBack, inChunk|inTool, 1, "esc", "back", nil, "esc", "backspace"),
	bind(doBack, inVerdict, 1, "esc", "back", nil, "esc", "backspace", "v"),
	bind(doReveal, inIdentity, 3, "r", "reveal", (*Console).identityMasked, "r"),
	bind(doReveal, inIdentity, 3, "r", "mask", (*Console).identityOpen, "r"),
	bind(doBack, inIdentity, 1, "esc", "back", nil, "esc", "backspace", "i"),
	bind(doReveal, inReport|inNews, 3, "r", "reveal", (*Console).mayReveal, "r"),
	bind(doReveal, inReport|inNews, 3, "r", "mask", (*Console).mayMask, "r"),
	bind(doBack, inReport|inNews, 1, "esc", "stop waiting", (*Console).reportRuns, "esc"),
	bind(doBack, inReport|inNews, 1, "esc", "back", (*Console).reportStands, "esc", "backspace"),
	bind(doReconcile, inViews, 2, "R", "reconcile", (*Console).shouldReconcile, "R"),
	bind(doReconcile, inViews, 0, "R", "reconcile: what it and its provider say now", (*Console).mayReconcile, "R"),
	bind(doAnswer, inViews, 2, "A", "answer the approval", (*Console).mayAnswer, "A"),
	bind(doSubmit, inActions, 5, "s", "submit", (*Console).maySubmit, "s"),
	bind(doSubmit, inViews, 0, "s", "submit a request", (*Console).maySubmit, "s"),
	bind(doSessions, inActions, 6, "S", "sessions", (*Console).mayBrowse, "S"),
	bind(doSessions, inViews, 0, "S", "the endpoint's sessions", (*Console).mayBrowse, "S"),
	bind(doTranscript, inViews, 0, "M", "its session's messages", (*Console).mayReadSession, "M"),
	bind(doResponse, inPanes|inVerdict|inIdentity, 0, "o", "the stored response", (*Console).mayReadResponse, "o"),
	bind(doDelete, inIdentity|inReport, 6, "D", "delete the stored response", (*Console).mayDeleteResponse, "D"),
	bind(doUp, inTexts, 0, "↑ k", "up", nil, "up", "k"),
	bind(doDown, inTexts, 0, "↓ j", "down", nil, "down", "j"),
	bind(doPageUp, inTexts, 0, "pgup ctrl+b", "page up", nil, "pgup", "ctrl+b", "ctrl+u"),
	bind(doPageDown, inTexts, 0, "pgdn ctrl+f", "page down", nil, "pgdown", "ctrl+f", "ctrl+d"),
	bind(doTop, inTexts, 0, "g home", "first", nil, "home", "g"),
	bind(doBottom, inTexts, 0, "G end", "last, and follow", nil, "end", "G"),
	bind(doActions, inViews|inBrowse|inNews, 9, "a", "actions", (*Console).mayList, "a"),
	bind(doNextAction, inViews, 3, ">", "next action", (*Console).maySwitch, ">"),
	bind(doPrevAction, inViews, 0, "<", "previous action", (*Console).maySwitch, "<"),
	bind(doIdentity, inPanes|inChunk|inTool|inVerdict|inReport, 0, "i", "identity", nil, "i"),
	bind(doCopy, inViews, 0, "y", "copy", (*Console).mayCopy, "y"),
	bind(doExport, inViews, 0, "x", "export", (*Console).mayExport, "x"),
	bind(doPalette, inViews|inActions|inBrowse|inNews, 0, ":", "name an action", nil, ":"),
	bind(doHelp, inViews|inActions|inBrowse|inNews, 10, "?", "help", nil, "?"),
	bind(doLeave, inViews|inActions|inBrowse|inNews, 11, "q", "leave", nil, "q"),
}

// works reports whether the row's keys mean something now.
func (b binding) works(c *Console) bool {
	return b.worksIn(c, c.place())
}

// worksIn is works, of another place. On a plain screen nothing is revealed, for it
// would stay there.
func (b binding) worksIn(c *Console, p place) bool {
	return b.where&p != 0 && (b.when == nil || b.when(c)) && (b.intent != doReveal || c.printer == nil)
}

// intentOf resolves a key.
func (c *Console) intentOf(msg tea.KeyMsg) intent {
	for _, b := range c.cfg.Keys.table() {
		if key.Matches(msg, b.Binding) && b.works(c) {
			return b.intent
		}
	}
	return doNothing
}
