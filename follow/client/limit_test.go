package client

import (
	"errors"
	"io"
	"strings"
	"testing"

	"aipscope/model/aip"
)

func TestALimitTellsMoreFromEnough(t *testing.T) {
	for text, want := range map[string]error{"1234": nil, "12345": aip.ErrTooLarge} {
		b, err := io.ReadAll(&limit{strings.NewReader(text), 4, aip.ErrTooLarge})
		if !errors.Is(err, want) || err == nil && string(b) != text {
			t.Errorf("%s: read %q, %v", text, b, err)
		}
	}
}
