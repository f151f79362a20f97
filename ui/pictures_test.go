package ui

import (
	"bytes"
	"context"
	"flag"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aipscope/follow/act"
	"aipscope/follow/replay"
	"aipscope/model"
	"aipscope/model/hermes"
	"aipscope/model/mask"
	"aipscope/model/turntest"
	"aipscope/themes"
	"aipscope/ui/screenshot"

	tea "github.com/charmbracelet/bubbletea"
)

// `make screenshots` runs the scenes below and paints them into this folder.
var paintInto = flag.String("paint", "", "paint the pictures into a folder")

// scene is the console as a picture shows it.
type scene struct {
	name      string
	recording string
	rows      int // of the recording; 0 for all and the end of the watch
	w, h      int
	theme     string
	keys      []string
	wait      time.Duration // before the picture, while nothing comes
}

// typed are the keys that a text takes, and more keys behind it.
func typed(text string, then ...string) []string {
	return append(strings.Split(text, ""), then...)
}

var scenes = []scene{
	{"live", "chat_tools", 112, 120, 40, "dark", nil, 0},
	{"live-light", "chat_tools", 112, 120, 40, "light", nil, 0},
	{"live-80x24", "chat_tools", 112, 80, 24, "dark", nil, 0},
	{"tools-80x24", "chat_tools", 37, 80, 24, "dark", []string{"2"}, 2 * time.Second},
	{"harbor", "session_stream_tools", 0, 120, 40, "harbor", nil, 0},
	{"contrast", "responses_tools", 0, 120, 40, "contrast", nil, 0},
	{"markdown", "session_stream_markdown", 0, 120, 40, "dark", []string{"z", "g"}, 0},
	{"verdict-accepted", "chat_ok", 0, 120, 40, "dark", []string{"v"}, 0},
	{"verdict-unconfirmed", "chat_tools", 0, 120, 40, "dark", []string{"v"}, 0},
	{"verdict-partial", "chat_length", 0, 120, 40, "light", []string{"v"}, 0},
	{"verdict-failed", "chat_error_partial", 0, 120, 40, "dark", []string{"v"}, 0},
	{"verdict-contradicted", "session_stream_failing_after_text", 0, 120, 40, "dark", []string{"v"}, 0},
	{"inspector", "responses_tools", 0, 160, 40, "dark", []string{"3", "g", "j", "j", "j", "j", "enter"}, 0},
	{"cancel", "chat_tools", 90, 120, 40, "dark", append([]string{"c"}, typed("the wrong session")...), 0},
	{"actions", "chat_tools", 90, 120, 24, "dark", []string{"a"}, 0},
}

// TestPictures plays every scene, and paints it if asked to.
func TestPictures(t *testing.T) {
	if *paintInto == "" {
		t.Skip("make screenshots paints them")
	}
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			frame := s.play(t)
			var b bytes.Buffer
			if err := screenshot.Paint(&b, emulate(t, frame, s.w, s.h), terminalOf(s.theme)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(*paintInto, s.name+".png"), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// terminalOf is a terminal for which a theme is made.
func terminalOf(theme string) screenshot.Colors {
	return map[string]screenshot.Colors{
		"dark":     {Foreground: color.RGBA{0xd3, 0xda, 0xe2, 0xff}, Background: color.RGBA{0x14, 0x18, 0x1d, 0xff}},
		"light":    {Foreground: color.RGBA{0x24, 0x2c, 0x36, 0xff}, Background: color.RGBA{0xfd, 0xfd, 0xfd, 0xff}},
		"contrast": {Foreground: color.RGBA{0xff, 0xff, 0xff, 0xff}, Background: color.RGBA{0x00, 0x00, 0x00, 0xff}},
		"harbor":   {Foreground: color.RGBA{0xcb, 0xd8, 0xdf, 0xff}, Background: color.RGBA{0x0f, 0x1c, 0x24, 0xff}},
	}[theme]
}

// play is the frame that a scene comes to.
func (s scene) play(t *testing.T) (frame string) {
	theme, err := themes.Load(s.theme)
	if err != nil {
		t.Fatal(err)
	}
	rows := paced(t, turntest.Named(t, s.recording).Rows(t))
	synctest.Test(t, func(t *testing.T) {
		var inner Config
		d := drive(t, s.w, s.h, func(c *Config) {
			c.Look.Theme = theme
			c.Endpoint, c.URL = "prod-a", "https://aip.example.org"
			c.Confirm = noConfirm
			c.Mask = mask.JSON
			cancelling(act.Cancelled{}, nil)(c)
			inner = *c
		})
		if len(s.keys) > 0 && s.keys[0] == "a" {
			d.putOnDesk(t, inner)
		}
		if s.rows > 0 {
			d.play(rows[:s.rows])
		} else {
			d.finish(rows)
		}
		d.pass(s.wait)
		d.press(s.keys...)
		frame = d.m.View()
	})
	return frame
}

// putOnDesk takes the console of a driver to a desk with a day's actions.
func (d *driver) putOnDesk(t *testing.T, inner Config) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	d.c.Close()
	d.drain()
	at := turntest.Epoch
	listed := func(last, capability, state string, verdict model.Word, chunks int, ago time.Duration) Listed {
		return Listed{
			Action: "act_0198b0d2c41e7000a00000000000" + last, URL: inner.URL, Capability: "cap:hermes_agent:" + capability,
			State: state, Verdict: verdict, Chunks: chunks, Last: at.Add(-ago),
		}
	}
	desk := NewDesk(ctx, DeskConfig{
		Endpoint: inner.URL, Look: inner.Look, Clock: inner.Clock,
		List: func(context.Context) ([]Listed, error) {
			return []Listed{
				listed("0001", "prod-a:chat_stream", "running", model.Pending, 44, 0),
				listed("7f21", "prod-a:session_chat_stream", "running", model.AwaitingApproval, 118, 2*time.Minute),
				listed("63d0", "prod-a:responses_stream", "completed", model.Unconfirmed, 402, 9*time.Minute),
				listed("5b98", "prod-a:chat_stream", "completed", model.Accepted, 1203, 31*time.Minute),
				listed("50c4", "prod-b:run_events", "failed", model.Failed, 67, 2*time.Hour),
				listed("4ea7", "prod-b:chat_stream", "failed", model.Incomplete, 219, 5*time.Hour),
				listed("41b3", "prod-a:session_chat_stream", "completed", model.Contradicted, 95, 6*time.Hour),
				listed("3c02", "prod-a:chat_stream", "cancelled", model.Cancelled, 31, 26*time.Hour),
				listed("2d5f", "prod-a:chat_stream", "completed", model.Partial, 4096, 30*time.Hour),
				listed("1a08", "prod-a:operator", "pending_approval", "", 0, 3*24*time.Hour),
			}, nil
		},
	}, inner)
	d.m = desk
	d.run(desk.Init())
	d.send(tea.WindowSizeMsg{Width: d.c.width, Height: d.c.height})
}

// paced are rows at the times at which a provider would have sent their frames.
func paced(t *testing.T, rows []model.Row) []model.Row {
	at := turntest.Epoch
	for i := range rows {
		if i+1 < len(rows) && rows[i+1].Kind == model.RowChunk {
			if rec, ok := hermes.RecordOf(rows[i+1].Chunk.Data); ok {
				frame := "data: " + string(rec.Data) + "\n\n"
				if name, ok := rec.Name(); ok {
					frame = "event: " + name + "\n" + frame
				}
				at = at.Add(replay.Delay([]byte(frame)))
			}
		}
		rows[i].At = at
		if e := rows[i].Event; e != nil {
			moved := *e
			moved.OccurredAt.Time = at
			rows[i].Event = &moved
		}
	}
	return rows
}
