package client

import (
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"
)

// NewActionID returns a fresh action ID: act_ and a UUIDv7 in 32 hex digits
// (wire/aip.md 11).
func NewActionID() (string, error) { return newID("act_") }

// NewMessageID returns a fresh message ID. A message ID may be used once.
func NewMessageID() (string, error) { return newID("msg_") }

func newID(prefix string) (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make an ID: %w", err)
	}
	return prefix + hex.EncodeToString(id[:]), nil
}
