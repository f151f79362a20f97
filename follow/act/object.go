package act

import (
	"context"

	"aipscope/model/hermes"
)

// Response reads a stored Responses object.
func (c *Caller) Response(ctx context.Context, id string) (Reply, error) {
	return c.read(ctx, hermes.OpResponseGet, map[string]string{"response_id": id})
}

// Deletion says how to delete.
type Deletion struct {
	ID    string
	Key   string // "" makes one
	Again bool   // ask even where the journal holds an earlier request
}

// Deleted is a deletion's outcome.
type Deleted struct {
	Reply
	Original bool // the result is that of an earlier request
}

// DeleteResponse deletes a stored Responses object, once an approval was given.
// Asked before, it reads the original result.
func (c *Caller) DeleteResponse(ctx context.Context, d Deletion) (Deleted, error) {
	return c.delete(ctx, hermes.OpResponseDelete, d)
}

// DeleteSession deletes a session's row and messages, likewise.
func (c *Caller) DeleteSession(ctx context.Context, d Deletion) (Deleted, error) {
	return c.delete(ctx, hermes.OpSessionDelete, d)
}

func (c *Caller) delete(ctx context.Context, op hermes.Operation, d Deletion) (Deleted, error) {
	if !d.Again {
		if r, found, err := c.again(ctx, op, d.ID); found || err != nil {
			return Deleted{r, found}, err
		}
	}
	r, err := c.call(ctx, call{op: op, input: map[string]string{op.TargetField(): d.ID}, key: d.Key})
	return Deleted{Reply: r}, err
}
