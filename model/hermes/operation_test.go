package hermes

import "testing"

func TestParseCapabilitySplitsAtTheLastColon(t *testing.T) {
	for _, c := range []struct {
		id, endpoint string
		op           Operation
		ok           bool
	}{
		{"cap:hermes_agent:prod-a:chat_stream", "prod-a", OpChatStream, true},
		{"cap:hermes_agent::chat_stream", "", OpChatStream, true},
		{"cap:hermes_agent:a:b:run_events", "a:b", OpRunEvents, true},
		{"cap:hermes_agent:prod:new_thing", "prod", "new_thing", true},
		{"cap:hermes_agent:chat_stream", "", "", false},
		{"cap:hermes_agent:prod:", "", "", false},
		{"cap:hermes:prod:chat", "", "", false},
		{"cap:demo:echo", "", "", false},
		{"", "", "", false},
	} {
		endpoint, op, ok := ParseCapability(c.id)
		if endpoint != c.endpoint || op != c.op || ok != c.ok {
			t.Errorf("ParseCapability(%q) = %q, %q, %v", c.id, endpoint, op, ok)
		}
		if ok && op.Capability(endpoint) != c.id {
			t.Errorf("%q does not format back: %q", c.id, op.Capability(endpoint))
		}
	}
}

func TestSpecsFollowTheConnectorsTable(t *testing.T) {
	if n := len(Specs()); n != 35 || len(specOf) != n {
		t.Fatalf("%d operations, %d distinct", n, len(specOf))
	}
	streams, reads, keys, consents := 0, 0, 0, 0
	for _, s := range Specs() {
		if s.Streams() {
			streams++
		}
		if s.ReadOnly {
			reads++
		}
		if s.NeedsKey {
			keys++
		}
		if s.NeedsConsent {
			consents++
			if !s.NeedsKey {
				t.Errorf("%s needs approval but no key", s.Operation)
			}
		}
		if s.ReadOnly && (s.Risk != RiskLow || s.NeedsKey) {
			t.Errorf("%s reads but is risk %s, key %v", s.Operation, s.Risk, s.NeedsKey)
		}
	}
	if streams != 5 || reads != 14 || keys != 15 || consents != 11 {
		t.Errorf("streams %d, reads %d, keys %d, approvals %d", streams, reads, keys, consents)
	}
	s, _ := OpSessionChatStream.Spec()
	if !s.Allows("streaming") || s.Allows("async") || !s.Allows("") || s.Allows("later") {
		t.Errorf("session_chat_stream modes: %+v", s)
	}
	if f := Operation("unheard_of").Family(); f != FamilyNone {
		t.Errorf("unknown operation has family %q", f)
	}
}
