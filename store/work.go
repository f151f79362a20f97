package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"aipscope/follow"
)

// Work is how far Check, Prune or Forget is.
type Work struct {
	Doing     string // in words
	Done, All int    // of the unit; All may be 0: it is not known
	Unit      string
}

// Tell has Check, Prune and Forget tell f how far they are, often. It is called by
// whoever calls them.
func (j *Journal) Tell(f func(Work)) { j.tell = f }

func (j *Journal) say(doing string, done, all int, unit string) {
	if j.tell != nil {
		j.tell(Work{doing, done, all, unit})
	}
}

// RoomError says that removing failed because the disk is full: what is removed is written
// over, and the files are written anew, both of which need room first.
type RoomError struct {
	Bytes int64 // that suffice
	Err   error
}

func (e *RoomError) Error() string { return e.Err.Error() }
func (e *RoomError) Unwrap() error { return e.Err }

// needsRoom makes a RoomError of what went wrong for want of room.
func (j *Journal) needsRoom(err error) error {
	if !errors.Is(err, ErrFull) && !errors.Is(err, ErrDisk) {
		return err
	}
	bytes, _, sizeErr := j.sizes()
	if sizeErr != nil {
		return err
	}
	return &RoomError{2*bytes + 1<<20, err}
}

// removeIn removes an action where there may be little room: the write-ahead log is
// emptied first if it must, which gives its room back.
func (j *Journal) removeIn(ctx context.Context, src follow.Source, now time.Time) error {
	err := j.remove(ctx, src, now)
	if j.path == "" || !errors.Is(err, ErrFull) {
		return err
	}
	if j.emptyLog(ctx, j.db) != nil {
		return err
	}
	return j.remove(ctx, src, now)
}

// emptyLog moves what stands in the write-ahead log to where it belongs.
func (j *Journal) emptyLog(ctx context.Context, q querier) error {
	var busy, frames, moved int
	if err := q.QueryRowContext(ctx, `PRAGMA wal_checkpoint(truncate)`).Scan(&busy, &frames, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return ErrLocked
	}
	return nil
}

// sizes adds up the journal's files; wal is the write-ahead log's share.
func (j *Journal) sizes() (bytes, wal int64, err error) {
	if j.path == "" {
		return 0, 0, nil
	}
	for _, name := range []string{j.path, j.path + "-wal", j.path + "-shm"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, 0, fmt.Errorf("size of %s: %w", name, err)
		}
		bytes += info.Size()
		if name == j.path+"-wal" {
			wal = info.Size()
		}
	}
	return bytes, wal, nil
}
