// Package ui is the console: what an operator sees of one action, and the keys
// that act on it.
//
// Console is the only tea.Model. Batches of committed rows come in through one
// outstanding wait, at most thirty times a second; they are folded into a
// model.Turn, and the panes read that turn. Panes are plain structs that are
// told their size and asked for lines. Keys are named in one table and become
// intents, so no pane knows a key. Everything that takes time (a journal row, a
// cancellation, a confirmation) is a command; Update and View do no I/O. What is
// done at the daemon beside watching (reconciling, submitting, sessions, stored
// responses) is a task: a command whose notices come in one by one, and whose end
// is shown unless the operator stopped waiting.
//
// A plain screen has no frames: what happened, and what a key opened, is printed once
// (Printer), and the lines that are drawn for a frame are where its words come from.
//
// A frame is exactly as high as the terminal and never wider. It is built again
// only when something that it shows has changed, and nothing is scheduled while
// nothing moves. Text from outside passes package safe or package markdown
// before it becomes part of a frame.
package ui
