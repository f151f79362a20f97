package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// schema is a JSON schema, as far as that of --output json goes. What it does not know
// in one is an error, so that nothing stands there unchecked.
type schema struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Type        any                `json:"type"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	Const       any                `json:"const"`
	Enum        []any              `json:"enum"`
	AnyOf       []*schema          `json:"anyOf"`
	Minimum     *float64           `json:"minimum"`
	MinItems    *int               `json:"minItems"`
	MaxItems    *int               `json:"maxItems"`

	// Of the whole.
	Schema string             `json:"$schema"`
	Title  string             `json:"title"`
	OneOf  []*schema          `json:"oneOf"`
	Defs   map[string]*schema `json:"$defs"`
}

func readSchema() (*schema, error) {
	f, err := os.Open(filepath.Join("ui", "cli", "output.schema.json"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := new(schema)
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	return s, d.Decode(s)
}

// types are the types of lines that the schema describes.
func (s *schema) types() []string {
	var all []string
	for _, one := range s.OneOf {
		all = append(all, strings.TrimPrefix(one.Ref, "#/$defs/"))
	}
	slices.Sort(all)
	return all
}

// line checks one line of output. Unlike a reader, it wants every member described.
func (s *schema) line(text string) (kind string, err error) {
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", err
	}
	kind, _ = v["type"].(string)
	if !slices.Contains(s.types(), kind) {
		return kind, fmt.Errorf("the type %q is not described", kind)
	}
	return kind, s.check(s.Defs[kind], v, kind)
}

func (s *schema) check(is *schema, v any, at string) error {
	if is.Ref != "" {
		def := s.Defs[strings.TrimPrefix(is.Ref, "#/$defs/")]
		if def == nil {
			return fmt.Errorf("%s: there is no %s", at, is.Ref)
		}
		return s.check(def, v, at)
	}
	if is.Const != nil && !reflect.DeepEqual(is.Const, v) {
		return fmt.Errorf("%s is %v, not %v", at, v, is.Const)
	}
	if is.Enum != nil && !slices.Contains(is.Enum, v) {
		return fmt.Errorf("%s is %v, none of %v", at, v, is.Enum)
	}
	if is.AnyOf != nil {
		var all []string
		for _, one := range is.AnyOf {
			err := s.check(one, v, at)
			if err == nil {
				return nil
			}
			all = append(all, err.Error())
		}
		return fmt.Errorf("%s is nothing of what it may be: %s", at, strings.Join(all, "; "))
	}
	if is.Type != nil && !hasType(is.Type, v) {
		return fmt.Errorf("%s is %T, not %v", at, v, is.Type)
	}
	switch v := v.(type) {
	case float64:
		if is.Minimum != nil && v < *is.Minimum {
			return fmt.Errorf("%s is %v", at, v)
		}
	case []any:
		if is.MinItems != nil && len(v) < *is.MinItems || is.MaxItems != nil && len(v) > *is.MaxItems {
			return fmt.Errorf("%s has %d items", at, len(v))
		}
		for i, item := range v {
			if err := s.check(is.Items, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range is.Required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("%s has no %s", at, name)
			}
		}
		if is.Properties == nil { // another's object
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if is.Properties[name] == nil {
				return fmt.Errorf("%s.%s is not described", at, name)
			}
			if err := s.check(is.Properties[name], v[name], at+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

func hasType(types, v any) bool {
	all, several := types.([]any)
	if !several {
		all = []any{types}
	}
	is := "null"
	switch v := v.(type) {
	case bool:
		is = "boolean"
	case string:
		is = "string"
	case float64:
		is = "number"
		if v == math.Trunc(v) {
			is = "integer"
		}
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	}
	return slices.Contains(all, any(is))
}

// scriptFits checks lines of JSON output against the schema, those of the last command or of
// files; with -all, every type that the schema describes must have been among them, in this
// script: fits [-all] [FILE…]
func scriptFits(ts *testscript.TestScript, _ bool, args []string) {
	s, err := readSchema()
	ts.Check(err)
	seen := seenOf(ts)
	whole := len(args) > 0 && args[0] == "-all"
	if whole {
		args = args[1:]
	}
	if len(args) == 0 {
		args = []string{"stdout"}
	}
	for _, file := range args {
		for line := range strings.Lines(ts.ReadFile(file)) {
			kind, err := s.line(line)
			if err != nil {
				ts.Fatalf("%v\n%s", err, line)
			}
			seen[kind] = true
		}
	}
	if !whole {
		return
	}
	for _, kind := range s.types() {
		if !seen[kind] {
			ts.Fatalf("no %s was seen", kind)
		}
	}
}

type seenKey struct{}

// seenOf are the types that the script has seen.
func seenOf(ts *testscript.TestScript) map[string]bool { return ts.Value(seenKey{}).(map[string]bool) }
