package aipd

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/near"
)

// Fault is one way in which a daemon misbehaves on purpose.
type Fault struct {
	Name  string
	Param string // what may follow the name behind "=", with its usual value; "" for nothing
	About string // one line

	make func(value string) (effect, error) // value is the usual one when none is given
}

// effect is what a fault does, at those places whose function is set.
type effect struct {
	options func(*Options)                                              // before the server is made
	answer  func(c *call) bool                                          // before a request is looked at; true when it was answered
	writer  func(c *call) http.ResponseWriter                           // what the answer goes through
	query   func(q *pageQuery)                                          // before a page is read
	page    func(s *Server, q pageQuery, at cursor, p *page)            // after it was read; the store is locked
	chunk   func(n int, c aip.Chunk) (aip.Chunk, bool)                  // before the nth is stored; false when it shall not be
	stored  func(s *Server, a *action, c aip.Chunk)                     // after it was stored; the store is locked
	json    func(body []byte) []byte                                    // of an event or a status
	state   func(st aip.State) aip.State                                // in a status
	start   func(s *Server, a *action) bool                             // before an action runs; true when it shall not. The store is locked
	outcome func(s *Server, a *action, r *hermes.Result) *hermes.Result // before a result is stored; nil when none shall be
	late    time.Duration                                               // between a result and its event
}

// call is a request as a fault sees it.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	route string // follow events status result cancel submit, or "" for any other
	id    string // of the action, or ""
	n     int    // calls of the same route and action before this one
}

// is reports whether the call is of one of the routes.
func (c *call) is(routes ...string) bool { return slices.Contains(routes, c.route) }

// reads reports whether the call asks about one action and changes nothing.
func (c *call) reads() bool { return c.is("follow", "events", "status", "result") }

// routed tells what a request asks for.
func (s *Server) routed(w http.ResponseWriter, r *http.Request, path []string) *call {
	c := &call{s: s, w: w, r: r}
	if len(path) > 3 {
		c.id = path[3]
	}
	switch {
	case r.Method == http.MethodPost && len(path) == 3:
		c.route = "submit"
	case len(path) == 4:
		c.route = "status"
	case len(path) == 5 && r.URL.Query().Get("follow") == "true":
		c.route = "follow"
	case len(path) == 5:
		c.route = path[4]
	}
	c.n = s.count(c.route + " " + c.id)
	return c
}

// count returns how often it was called with the same key before.
func (s *Server) count(key string) int {
	s.countMu.Lock()
	defer s.countMu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	n := s.counts[key]
	s.counts[key]++
	return n
}

// Faults are faults that were chosen. The zero Faults are none.
type Faults struct {
	effects []effect
	names   []string
}

// String names the faults as ParseFaults reads them.
func (f Faults) String() string { return strings.Join(f.names, ",") }

// ErrNoFault is why faults cannot be read: a name is not known, or a value does
// not fit.
var ErrNoFault = errors.New("no such fault")

// ParseFaults reads names of faults, with values where they take one:
// "cut=1234,crlf". They take effect in the order of the table: what changes
// what is said comes before what breaks off how it is said.
func ParseFaults(list string) (Faults, error) {
	var f Faults
	values := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, value, given := strings.Cut(item, "=")
		i := slices.IndexFunc(table, func(f Fault) bool { return f.Name == name })
		switch {
		case i < 0:
			return Faults{}, unknownFault(name)
		case given && table[i].Param == "":
			return Faults{}, fmt.Errorf("%w: %s takes no value", ErrNoFault, name)
		case !given:
			_, value, _ = strings.Cut(table[i].Param, "=")
		}
		values[name] = value
		f.names = append(f.names, item)
	}
	for _, fault := range table {
		value, chosen := values[fault.Name]
		if !chosen {
			continue
		}
		e, err := fault.make(value)
		if err != nil {
			return Faults{}, fmt.Errorf("%w: %s=%s: it is %s", ErrNoFault, fault.Name, value, fault.Param)
		}
		f.effects = append(f.effects, e)
	}
	return f, nil
}

func unknownFault(name string) error {
	names := make([]string, len(table))
	for i, f := range table {
		names[i] = f.Name
	}
	if meant := near.Name(name, names...); meant != "" {
		return fmt.Errorf("%w: %q; did you mean %q?", ErrNoFault, name, meant)
	}
	return fmt.Errorf("%w: %q", ErrNoFault, name)
}

// late is how long the event of a result comes after it.
func (f Faults) late() (d time.Duration) {
	for _, e := range f.effects {
		d = max(d, e.late)
	}
	return d
}

// AllFaults is the table of faults.
func AllFaults() []Fault { return slices.Clone(table) }

// The methods below let the faults act at the places of an effect.

func (f Faults) answered(c *call) bool {
	for _, e := range f.effects {
		if e.answer != nil && e.answer(c) {
			return true
		}
	}
	return false
}

func (f Faults) writer(c *call) http.ResponseWriter {
	for _, e := range slices.Backward(f.effects) { // the last of the table stands at the network
		if e.writer != nil {
			c.w = e.writer(c)
		}
	}
	return c.w
}

func (f Faults) query(q *pageQuery) {
	for _, e := range f.effects {
		if e.query != nil {
			e.query(q)
		}
	}
}

func (f Faults) page(s *Server, q pageQuery, at cursor, p *page) {
	for _, e := range f.effects {
		if e.page != nil {
			e.page(s, q, at, p)
		}
	}
}

// chunk is what is stored of an action's nth chunk, if anything is.
func (f Faults) chunk(n int, c aip.Chunk) (changed aip.Chunk, stored bool) {
	for _, e := range f.effects {
		if e.chunk != nil {
			if c, stored = e.chunk(n, c); !stored {
				return c, false
			}
		}
	}
	return c, true
}

func (f Faults) stored(s *Server, a *action, c aip.Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range f.effects {
		if e.stored != nil {
			e.stored(s, a, c)
		}
	}
}

func (f Faults) json(body []byte) []byte {
	for _, e := range f.effects {
		if e.json != nil {
			body = e.json(body)
		}
	}
	return body
}

func (f Faults) state(st aip.State) aip.State {
	for _, e := range f.effects {
		if e.state != nil {
			st = e.state(st)
		}
	}
	return st
}

func (f Faults) start(s *Server, a *action) bool {
	for _, e := range f.effects {
		if e.start != nil && e.start(s, a) {
			return true
		}
	}
	return false
}

func (f Faults) outcome(s *Server, a *action, r *hermes.Result) *hermes.Result {
	for _, e := range f.effects {
		if e.outcome != nil && r != nil {
			r = e.outcome(s, a, r)
		}
	}
	return r
}

// always is a fault without a value.
func always(e effect) func(string) (effect, error) {
	return func(string) (effect, error) { return e, nil }
}

// number is a fault with a number that is not negative.
func number(fn func(n int) effect) func(string) (effect, error) {
	return func(value string) (effect, error) {
		n, err := strconv.Atoi(value)
		if err == nil && n < 0 {
			err = strconv.ErrRange
		}
		if err != nil {
			return effect{}, err
		}
		return fn(n), nil
	}
}

// length is a fault with a duration.
func length(fn func(d time.Duration) effect) func(string) (effect, error) {
	return func(value string) (effect, error) {
		d, err := time.ParseDuration(value)
		if err != nil {
			return effect{}, err
		}
		return fn(d), nil
	}
}
