package aipd

import (
	"errors"
	"strings"
	"testing"
)

func TestFaultsAreReadByName(t *testing.T) {
	for _, f := range AllFaults() {
		if _, err := ParseFaults(f.Name); err != nil || f.About == "" {
			t.Errorf("%s (%s): %v", f.Name, f.About, err)
		}
		if _, err := ParseFaults(f.Name + "="); err == nil && f.Param == "" {
			t.Errorf("%s took a value", f.Name)
		}
	}
	f, err := ParseFaults(" cut=12, crlf,,gaps ")
	if err != nil || f.String() != "cut=12,crlf,gaps" || len(f.effects) != 3 || f.effects[0].chunk == nil {
		t.Errorf("%v %v, in the order of the table: %v", f, err, f.effects)
	}
	if f, err := ParseFaults(""); err != nil || len(f.effects) != 0 {
		t.Errorf("%v %v", f, err)
	}
	for list, says := range map[string]string{
		"nix": `"nix"`, "cut=-1": "cut=-1: it is BYTES=1000", "cut=x": "BYTES", "crlf=1": "crlf takes no value", "skew=soon": "DURATION",
		"redacted=all": "WHAT=output", "gaps=-1": "FIRST",
	} {
		if _, err := ParseFaults(list); !errors.Is(err, ErrNoFault) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", list, err)
		}
	}
}
