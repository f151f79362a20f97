package ui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"aipscope/model/near"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// actionNames are the names of what keys do: in the command palette, and in the
// configuration.
var actionNames = map[intent]string{
	doUp: "up", doDown: "down", doPageUp: "page-up", doPageDown: "page-down", doTop: "top", doBottom: "bottom",
	doNextPane: "next-pane", doPrevPane: "previous-pane", doPane1: "assistant", doPane2: "tools", doPane3: "chunks",
	doZoom: "zoom", doOpen: "open", doBack: "back", doEarlier: "earlier", doLater: "later", doReveal: "reveal", doRaw: "raw",
	doFold: "thinking", doFreeze: "freeze", doVerdict: "verdict", doCancel: "cancel", doConfirm: "confirm", doAccept: "accept",
	doToggle: "mark", doHelp: "help", doLeave: "leave", doInterrupt: "interrupt",
	doActions: "actions", doNextAction: "next-action", doPrevAction: "previous-action", doFilterList: "filter-actions", doReload: "read-again",
	doIdentity: "identity", doPalette: "palette", doCopy: "copy", doSave: "copy-to-file", doExport: "export", doSuspend: "suspend",
	doSearch: "search", doFilter: "filter", doNextHit: "next-found", doPrevHit: "previous-found", doNoSearch: "end-search", doNoFilter: "end-filter",
	doSubmit: "submit", doAnswer: "answer", doSessions: "sessions", doTranscript: "session-messages", doMore: "next-page", doTree: "tree", doMessage: "continue", doFork: "fork",
	doPatch: "change", doCreate: "new-session", doReconcile: "reconcile", doResponse: "stored-response", doDelete: "delete",
	doNow: "now", doPick: "point", doUnpick: "stop-pointing", doNextView: "next-view", doPrevView: "previous-view", doFoldNode: "fold",
}

// Keymap is the key table with what a user has changed in it. The zero Keymap is
// the table as it is.
type Keymap struct{ rows []binding }

// table are the rows, the first that fits wins.
func (m Keymap) table() []binding {
	if m.rows == nil {
		return keyTable
	}
	return m.rows
}

// Rebind returns the key table in which each named action has the given keys,
// everywhere, and no other; where text is typed, only keys that are no text. A key is written as the console names it: x, X,
// ctrl+x, alt+x, f5, space, pgup. It fails for a name or a key that does not exist,
// and where a key would mean two things in one place.
func Rebind(keys map[string][]string) (Keymap, error) {
	if len(keys) == 0 {
		return Keymap{}, nil
	}
	byName := map[string]intent{}
	for i, name := range actionNames {
		byName[name] = i
	}
	bound := map[intent][]string{}
	for _, name := range sortedKeys(keys) {
		i, ok := byName[name]
		if !ok {
			names := sortedKeys(byName)
			meant := ""
			if m := near.Name(name, names...); m != "" {
				meant = fmt.Sprintf(" (did you mean %q?)", m)
			}
			return Keymap{}, fmt.Errorf("no action is named %q%s; they are %s", name, meant, strings.Join(names, ", "))
		}
		if len(keys[name]) == 0 {
			return Keymap{}, fmt.Errorf("%s has no key", name)
		}
		for _, k := range keys[name] {
			if k == "space" {
				k = " "
			}
			if !isKey(k) {
				return Keymap{}, fmt.Errorf("%s: %q is no key", name, k)
			}
			bound[i] = append(bound[i], k)
		}
	}
	rows := slices.Clone(keyTable)
	for n := range rows {
		k := bound[rows[n].intent]
		if rows[n].where&inTyping != 0 && rows[n].where&inPanes == 0 {
			// What would be typed as text stays text.
			k = slices.DeleteFunc(slices.Clone(k), func(k string) bool { return utf8.RuneCountInString(k) == 1 })
		}
		if len(k) > 0 {
			rows[n].Binding = key.NewBinding(key.WithKeys(k...), key.WithHelp(keyLabel(k), rows[n].Help().Desc))
		}
	}
	return Keymap{rows}, conflict(rows, bound)
}

// conflict is an error where a key that was bound means something else too, in a
// place that both share.
func conflict(rows []binding, bound map[intent][]string) error {
	for _, a := range rows {
		if bound[a.intent] == nil {
			continue
		}
		for _, k := range a.Keys() {
			for _, b := range rows {
				if b.intent != a.intent && a.where&b.where != 0 && slices.Contains(b.Keys(), k) {
					return fmt.Errorf("%q is both %s and %s", keyLabel([]string{k}), actionNames[a.intent], actionNames[b.intent])
				}
			}
		}
	}
	return nil
}

// keyLabel is how keys are written in the help.
func keyLabel(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		if out[i] = k; k == " " {
			out[i] = "space"
		}
	}
	return strings.Join(out, " ")
}

// isKey reports whether a terminal has a key of that name.
func isKey(name string) bool {
	base := strings.TrimPrefix(name, "alt+")
	if utf8.RuneCountInString(base) == 1 {
		r, _ := utf8.DecodeRuneInString(base)
		return r >= ' ' && r != 0x7f && r != utf8.RuneError
	}
	for t := tea.KeyType(-128); t < 128; t++ {
		if t != tea.KeyRunes && t != tea.KeySpace && base != "" && (tea.Key{Type: t}).String() == base {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
