package ui

// motion is a movement through a list or a text.
type motion int

const (
	moveUp motion = iota
	moveDown
	movePageUp
	movePageDown
	moveTop
	moveBottom
)

// apply returns the position that the motion leads to from at, within 0..last.
func (m motion) apply(at, last, page int) int {
	switch m {
	case moveUp:
		at--
	case moveDown:
		at++
	case movePageUp:
		at -= max(1, page-1)
	case movePageDown:
		at += max(1, page-1)
	case moveTop:
		at = 0
	case moveBottom:
		at = last
	}
	return max(0, min(at, last))
}

// list is the window that is shown of n things, and the one that is selected.
// While it follows, the last one is selected; a motion away from the end stops
// that, and coming back to the end resumes it.
type list struct {
	n, selected int
	offset      int
	height      int
	sticky      bool // follows the end at all
	paused      bool
	pinned      bool // the selected one is open: it stays selected
	pausedAt    int  // n when the following stopped
}

func (l *list) resize(height int) {
	l.height = max(height, 0)
	l.show()
}

// grow tells that there are n things now.
func (l *list) grow(n int) {
	l.n = n
	if l.sticky && !l.paused && !l.pinned {
		l.selected = n - 1
	}
	l.show()
}

func (l *list) move(m motion) {
	if l.n == 0 {
		return
	}
	l.choose(m.apply(l.selected, l.n-1, l.height))
}

func (l *list) choose(i int) {
	l.selected = i
	if l.sticky {
		atEnd := l.selected >= l.n-1
		if !atEnd && !l.paused {
			l.pausedAt = l.n
		}
		l.paused = !atEnd
	}
	l.show()
}

// fresh counts what came since the following stopped.
func (l *list) fresh() int { return max(0, l.n-l.pausedAt) }

// show moves the window as little as it must so that the selection is inside.
func (l *list) show() {
	l.selected = max(0, min(l.selected, l.n-1))
	if l.selected < l.offset {
		l.offset = l.selected
	}
	if l.selected >= l.offset+l.height {
		l.offset = l.selected - l.height + 1
	}
	l.offset = max(0, min(l.offset, l.n-l.height))
}

// window is the range of things in sight.
func (l *list) window() (from, to int) { return l.offset, min(l.n, l.offset+l.height) }
