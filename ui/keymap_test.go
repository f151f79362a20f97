package ui

import (
	"strings"
	"testing"

	"aipscope/follow/act"
	"aipscope/model"
)

func TestEveryRowOfTheKeyTableHasANameOfItsOwn(t *testing.T) {
	seen := map[string]intent{}
	for i, name := range actionNames {
		if other, ok := seen[name]; ok {
			t.Errorf("%d and %d are both %q", i, other, name)
		}
		seen[name] = i
	}
	for _, b := range keyTable {
		if actionNames[b.intent] == "" {
			t.Errorf("%v (%s) has no name", b.Keys(), b.Help().Desc)
		}
		for _, k := range b.Keys() {
			if !isKey(k) {
				t.Errorf("%q is not taken for a key", k)
			}
		}
	}
}

func TestReboundKeysReplaceTheOldOnes(t *testing.T) {
	keys, err := Rebind(map[string][]string{"cancel": {"X", "ctrl+k"}, "verdict": {"space"}})
	if err == nil || !strings.Contains(err.Error(), `"space" is both verdict and`) {
		t.Fatalf("space has two meanings: %v", err)
	}
	if keys, err = Rebind(map[string][]string{"cancel": {"X", "ctrl+k"}, "verdict": {"f9"}}); err != nil {
		t.Fatal(err)
	}
	bubble(t, "chat_tools", 120, 40, func(c *Config) { cancelling(act.Cancelled{}, nil)(c); c.Keys = keys }, func(d *driver, rows []model.Row) {
		d.play(rows[:60])
		d.shows("X ctrl+k cancel", "f9 verdict")
		d.press("c")
		d.hides("Ask the daemon to stop")
		d.press("X")
		d.shows("Ask the daemon to stop")
		d.press("esc", "?")
		d.shows("X ctrl+k")
	})
}

func TestKeysThatCannotBeBoundSayWhy(t *testing.T) {
	for _, test := range []struct {
		name string
		keys []string
		want string
	}{
		{"cancle", []string{"x"}, `no action is named "cancle" (did you mean "cancel"?); they are accept, `},
		{"cancel", []string{"hyper+x"}, `"hyper+x" is no key`},
		{"cancel", []string{""}, `"" is no key`},
		{"cancel", nil, "cancel has no key"},
		{"cancel", []string{"z"}, `"z" is both cancel and zoom`},
		{"cancel", []string{"ctrl+c"}, `"ctrl+c" is both cancel and interrupt`},
	} {
		_, err := Rebind(map[string][]string{test.name: test.keys})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s = %q: %v", test.name, test.keys, err)
		}
	}
}

// What the table itself shares between places is no conflict of the user's.
func TestEachActionCanBeBound(t *testing.T) {
	for _, b := range keyTable {
		if _, err := Rebind(map[string][]string{actionNames[b.intent]: {"f9"}}); err != nil {
			t.Errorf("%s: %v", actionNames[b.intent], err)
		}
	}
}

func TestKeysThatAreTextStayTextWhereItIsTyped(t *testing.T) {
	keys, err := Rebind(map[string][]string{"accept": {"y"}, "up": {"w"}})
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, "chat_tools", 120, 40, func(c *Config) { cancelling(act.Cancelled{}, nil)(c); c.Keys = keys }, func(d *driver, rows []model.Row) {
		d.play(rows[:60])
		d.press("c", "y", "w")
		d.shows("reason yw", "enter cancel the action")
	})
}
