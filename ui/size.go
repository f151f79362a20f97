package ui

// What the console needs of a screen, in cells.
const (
	MinWidth  = minWidth
	MinHeight = minHeight
	Wide      = columnsWidth // from here on panes stand side by side
)
