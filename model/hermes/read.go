package hermes

import (
	"bytes"
	"encoding/json"
	"strings"

	"aipscope/model/aip"
)

// str reads a JSON string; false for anything else.
func str(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	if aip.UnmarshalLast(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// firstText returns the first of the values that is a non-empty string.
func firstText(values ...json.RawMessage) string {
	for _, v := range values {
		if s, _ := str(v); s != "" {
			return s
		}
	}
	return ""
}

// text reads a string as itself and any other value as its JSON; null is "".
func text(raw json.RawMessage) string {
	if s, ok := str(raw); ok {
		return s
	}
	if isNull(raw) {
		return ""
	}
	return string(raw)
}

// partsText joins the texts of a list of parts; a plain string is itself.
func partsText(raw json.RawMessage) string {
	var parts []struct {
		Text string `json:"text"`
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return text(raw)
	}
	_ = aip.UnmarshalLast(raw, &parts)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// object returns raw when it is a JSON object, else nil.
func object(raw json.RawMessage) json.RawMessage {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '{' {
		return raw
	}
	return nil
}

func isNull(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) == 0 || bytes.Equal(t, []byte("null"))
}
