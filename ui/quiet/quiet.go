// Package quiet keeps bubbletea from asking the terminal for its background while
// the program is loaded: each command would ask, whether it draws or not, and wait five
// seconds where the terminal does not answer. The console asks by itself (ui/cli), and
// waits no longer than it must.
//
// It works because the package imports lipgloss and nothing that bubbletea is needed for:
// of the packages that can be initialised, Go takes them in the order of their paths. A
// test of ui/cli sees whether it still does.
package quiet

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
