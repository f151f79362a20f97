package follow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"aipscope/follow/client"
	"aipscope/model"
	"aipscope/model/aip"
)

// Codes of rows of kind error that the console makes itself, about what a daemon
// sent. Their details hold the thing as it came: what cannot be read is kept.
const (
	CodeUndecodable   = "aipscope.frame_undecodable"    // not a follow frame, event or chunk
	CodeAnotherAction = "aipscope.frame_another_action" // of an action that was not asked for; not applied
)

// frame is one follow frame, decoded. Exactly one of its parts is set; a zero
// frame is one that cannot be read.
type frame struct {
	row      *model.Row // an event or a chunk
	action   string     // of the row, or of the terminal frame; "" if it does not say
	cursor   string
	terminal bool
	err      *client.Error
}

// decodeFrame reads a follow frame. Its name says little: a chunk and the event
// about it share one, and a connector names events as it likes. The key of the
// data decides (wire/aip.md 3.3).
func decodeFrame(name string, data []byte, at time.Time) frame {
	// Nearly all frames are {"event":…} or {"chunk":…}. What is between the key
	// and the last brace is one value exactly if the frame is such an object.
	if inner, ok := between(data, `{"chunk":`); ok {
		if f, ok := decodeChunk(inner, at); ok {
			return f
		}
	} else if inner, ok := between(data, `{"event":`); ok {
		if f, ok := decodeEvent(inner, at); ok {
			return f
		}
	}
	var keys struct {
		Event    json.RawMessage `json:"event"`
		Chunk    json.RawMessage `json:"chunk"`
		Cursor   string          `json:"next_cursor"`
		Terminal bool            `json:"terminal"`
		ActionID string          `json:"action_id"`
	}
	if aip.Unmarshal(data, &keys) != nil {
		if name == aip.FrameError { // an error that could not be encoded (wire/aip.md 3.3)
			return frame{err: &client.Error{}}
		}
		return frame{}
	}
	switch {
	case keys.Event != nil:
		f, _ := decodeEvent(keys.Event, at)
		return f
	case keys.Chunk != nil:
		f, _ := decodeChunk(keys.Chunk, at)
		return f
	case keys.Cursor != "":
		return frame{cursor: keys.Cursor}
	case keys.Terminal:
		return frame{terminal: true, action: keys.ActionID}
	}
	if e := aip.DecodeError(data); e != nil {
		return frame{err: client.FromAIP(e, 0)}
	}
	if name == aip.FrameError {
		return frame{err: &client.Error{}}
	}
	return frame{}
}

func between(data []byte, opening string) ([]byte, bool) {
	if len(data) <= len(opening) || string(data[:len(opening)]) != opening || data[len(data)-1] != '}' {
		return nil, false
	}
	return data[len(opening) : len(data)-1], true
}

// decodeEvent reads an event, which must have its ID and its kind.
func decodeEvent(raw []byte, at time.Time) (frame, bool) {
	row, err := model.DecodeRow(model.RowEvent, at, raw)
	if err != nil || row.Event.ID == "" || row.Event.Kind == "" {
		return frame{}, false
	}
	return frame{row: &row, action: row.Event.ActionID}, true
}

// decodeChunk reads a chunk, which must have its sequence and its kind. An
// absent sequence is not zero: it would stand in the way of the real one.
func decodeChunk(raw []byte, at time.Time) (frame, bool) {
	row, err := model.DecodeRow(model.RowChunk, at, raw)
	if err != nil || row.Chunk.Kind == "" {
		return frame{}, false
	}
	if row.Chunk.Sequence == 0 {
		var there struct {
			Sequence *uint64 `json:"sequence"`
		}
		if aip.Unmarshal(raw, &there) != nil || there.Sequence == nil {
			return frame{}, false
		}
	}
	return frame{row: &row, action: row.Chunk.ActionID}, true
}

// keptBytes bounds what is kept of a frame that cannot be read.
const keptBytes = 64 << 10

// oddity makes the error row that keeps a frame which is not applied, and the
// digest by which it is known when it comes again.
func oddity(code, name string, data []byte, at time.Time) (model.Row, string, error) {
	sum := sha256.Sum256(append([]byte(code+"\x00"+name+"\x00"), data...))
	digest := hex.EncodeToString(sum[:16])
	details, err := json.Marshal(map[string]any{
		"frame": name, "size": len(data), "digest": digest, "data": string(bytes.ToValidUTF8(data[:min(len(data), keptBytes)], []byte("\uFFFD"))),
	})
	if err != nil {
		return model.Row{}, "", err
	}
	row, err := model.NewRow(model.RowError, at, &aip.Error{Code: code, Message: "a frame was kept and not applied", Category: "console", Details: details})
	return row, digest, err
}
