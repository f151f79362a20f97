package near

import "testing"

func TestName(t *testing.T) {
	names := []string{"watch", "status", "session", "effects-confirmed", "url", "output", "cap:hermes_agent:demo:chat", "cap:hermes_agent:demo:chat_stream"}
	for wrong, want := range map[string]string{
		"wach": "watch", "wathc": "watch", "sesion": "session", "ul": "url", "ouput": "output",
		"effects": "effects-confirmed", "cap:hermes_agent:demo:chat_strem": "cap:hermes_agent:demo:chat_stream",
		"": "", "x": "", "colour": "", "cap:other:echo": "",
	} {
		if got := Name(wrong, names...); got != want {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
	if got := Name("watch"); got != "" {
		t.Errorf("of no names: %q", got)
	}
}
