package mask

import (
	"strings"
	"time"
)

// class says what becomes of a string under a known key.
type class uint8

const (
	private    class = iota // its length
	word                    // stays if it is one of the closed lists' words
	name                    // a tool, event or code: stays if it is a plain name
	capability              // stays if it is a plain name of any length that occurs
	ident                   // a pseudonym
	moment                  // stays if it is a time
	text                    // the assistant's text, or a repeat of it
	delta                   // a piece of it
	frame                   // a provider frame's data: [DONE], or JSON in a string
	toolKey                 // a tool's key: a correlation ID or name#n
)

// rule is what is known of the values under a key. A key without a rule is
// private, with all that is below it.
type rule struct {
	str  class
	num  bool // numbers stay
	deep bool // what is below is known by its own keys
	mute bool // what is below is not the assistant's text
}

// rules holds every key that is not private, in lower case. It is an
// allow-list: only what is here can stay, and of a string only what its class
// lets through. encoding/json takes keys in any case, so case decides nothing.
var rules = func() map[string]rule {
	r := map[string]rule{
		// AIP: chunks, events, results, statuses, and the console's own rows.
		"data": {str: frame, deep: true}, "hermes_sse": {deep: true}, "hermes_operator": {deep: true}, "record": {deep: true},
		"part": {deep: true}, "result": {deep: true}, "details": {deep: true}, "actor": {deep: true, mute: true},
		"aggregate": {deep: true}, "events": {num: true, deep: true, mute: true}, "retry": {deep: true}, "policy": {deep: true},
		"last_error": {deep: true}, "receipt": {deep: true}, "action_result": {deep: true}, "action_status": {deep: true}, "ack": {deep: true},
		"capability": {str: capability}, "capability_id": {str: capability}, "kind": {str: name}, "code": {str: name},
		"connector": {str: name}, "component": {str: name}, "source": {deep: true},
		"tools": {str: toolKey, num: true}, "input": {deep: true, mute: true}, "body": {deep: true},
		// Hermes: frames, objects, transcripts.
		"event": {str: name}, "choices": {str: word, deep: true}, "delta": {str: delta, deep: true},
		"message": {deep: true}, "messages": {deep: true}, "response": {deep: true}, "item": {deep: true}, "output": {str: text, deep: true},
		"content": {str: text, deep: true}, "text": {str: text}, "reasoning": {str: text}, "reasoning_content": {str: text},
		"error": {deep: true}, "hermes": {deep: true}, "usage": {deep: true}, "runtime": {deep: true}, "pagination": {deep: true},
		"tool_calls": {deep: true}, "function": {deep: true}, "user_message": {deep: true, mute: true}, "session": {deep: true},
		"tool": {str: name}, "tool_name": {str: name}, "name": {str: name}, "operation": {str: name}, "endpoint_id": {str: name},
		"error_code": {str: name}, "prompt_tokens_details": {deep: true}, "completion_tokens_details": {deep: true},
		"input_tokens_details": {deep: true}, "output_tokens_details": {deep: true},
	}
	for key := range strings.FieldsSeq(`type object role status state queued_state result_status finish_reason native_finish_reason
		turn_exit_reason end_reason category mode format target step reason choice order last_event truncation`) {
		r[key] = rule{str: word}
	}
	for key := range strings.FieldsSeq(`id action_id session_id correlation_id message_id item_id run_id response_id previous_response_id
		response_item_id call_id tool_call_id toolcallid approval_id interaction_id clarify_id request_id transaction_id delegation_id
		parent_action_id owner_action_id source_action_id parent_session_id _lineage_root_id worker_id lease_id idempotency_key key
		aip_session session_key conversation tenant principal user user_id provider_request_id receipt_id`) {
		r[key] = rule{str: ident}
	}
	for key := range strings.FieldsSeq(`occurred_at started_at updated_at completed_at created_at expires_at ended_at last_active
		next_attempt_at acquired_at reservation_expires_at sent_at created ts timestamp at`) {
		r[key] = rule{str: moment, num: true}
	}
	for key := range strings.FieldsSeq(`sequence sequence_number seq index output_index content_index summary_index through after unlike
		matched missing unread size size_bytes duration waited_ms timeout_ms retry_after_ms latency_ms attempts max_attempts http_status
		remote_status max_events limit offset returned message_count tool_call_count token_count tokens input_tokens output_tokens
		total_tokens prompt_tokens completion_tokens cached_tokens reasoning_tokens input output`) {
		k := r[key]
		k.num = true
		r[key] = k
	}
	return r
}()

// words are the values of closed lists: states, statuses, modes, finishes,
// roles, types, objects, categories, choices, steps and fixed reasons.
var words = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`
		unknown accepted queued running streaming pending_approval cancelling cancelled completed failed expired dead_lettered
		requires_human rejected cached started stopping waiting_for_approval interrupted in_progress incomplete partial
		sync async
		stop length error tool_calls content_filter function_call max_tokens tool_use end_turn stop_sequence
		user assistant system tool developer function
		text json image file audio form card tool_result plain markdown message function_call_output reasoning
		output_text input_text image_url input_image refusal summary_text
		agent_error server_error invalid_request_error rate_limit_error gateway_auth_error
		response list chat.completion chat.completion.chunk hermes.session hermes.session.deleted hermes.session.chat.completion
		hermes.run hermes.run.approval_response hermes.run.steer hermes.approval.list hermes.session.yolo
		auth policy permanent temporary transport connector economic
		once session always deny approve allow approval choice clarify
		asked answered refused action run
		branched compression client_closed asc desc auto
		run.started run.finished run.completed run.failed run.cancelled run.stopping run.interrupted message.delta
		tool.started tool.completed tool.failed reasoning.available approval.request approval.responded
		upstream_stream_closed_without_terminal_event`) {
		set[w] = true
	}
	return set
}()

// listed reports whether a value is one of a closed list.
func listed(s string) bool {
	return words[s] || strings.HasPrefix(s, "response.") && plain(s, 64)
}

// plain reports whether s can be a name and nothing else: 1 to most characters
// of A-Za-z0-9._:-.
func plain(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != ':' && c != '-' {
			return false
		}
	}
	return true
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil && len(s) <= 40
}
