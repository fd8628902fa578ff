// Package schema checks what a herdr server says against herdr's published API
// schema of 0.9.3, which 0.8.2 keeps to as well.
package schema

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed herdr-api-0.9.3.schema.json
var document []byte

// Checker checks lines of a server. It is safe for concurrent use.
type Checker struct {
	success, failure, event, subscription, request *jsonschema.Schema
}

// New compiles the schema.
func New() (*Checker, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("herdr schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("herdr.json", doc); err != nil {
		return nil, fmt.Errorf("herdr schema: %w", err)
	}
	k := &Checker{}
	for name, into := range map[string]**jsonschema.Schema{
		"success_response": &k.success, "error_response": &k.failure, "event": &k.event,
		"subscription_event": &k.subscription, "request": &k.request,
	} {
		if *into, err = c.Compile("herdr.json#/schemas/" + name); err != nil {
			return nil, fmt.Errorf("herdr schema: %s: %w", name, err)
		}
	}
	return k, nil
}

// Line checks an answer or a line of a subscription.
func (k *Checker) Line(line []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return fmt.Errorf("herdr line: %w", err)
	}
	o, _ := v.(map[string]any)
	s := k.success
	switch name, _ := o["event"].(string); {
	case o["error"] != nil:
		s = k.failure
	case strings.Contains(name, "."):
		s = k.subscription
	case name != "":
		s = k.event
	}
	if err := s.Validate(v); err != nil {
		return fmt.Errorf("herdr line %.300s: %w", line, err)
	}
	return nil
}

// Event checks what a plugin hook gets in HERDR_PLUGIN_EVENT_JSON.
func (k *Checker) Event(data []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = k.event.Validate(v)
	}
	if err != nil {
		return fmt.Errorf("herdr event %.300s: %w", data, err)
	}
	return nil
}

// Request checks a request of a client.
func (k *Checker) Request(line []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err == nil {
		err = k.request.Validate(v)
	}
	if err != nil {
		return fmt.Errorf("herdr request %.300s: %w", line, err)
	}
	return nil
}

// Methods lists the methods that the schema knows.
func Methods() ([]string, error) {
	var doc struct {
		Schemas struct {
			Request struct {
				OneOf []struct {
					Properties struct {
						Method struct {
							Const string `json:"const"`
						} `json:"method"`
					} `json:"properties"`
				} `json:"oneOf"`
			} `json:"request"`
		} `json:"schemas"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("herdr schema: %w", err)
	}
	var names []string
	for _, m := range doc.Schemas.Request.OneOf {
		names = append(names, m.Properties.Method.Const)
	}
	return names, nil
}
