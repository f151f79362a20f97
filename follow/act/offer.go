package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aipscope/follow/client"
	"aipscope/model/aip"
	"aipscope/model/hermes"
	"aipscope/model/near"
)

// Catalogue is where a daemon says what it offers.
type Catalogue interface {
	Manifest(ctx context.Context) (client.Manifest, error)
}

// Offer is a capability of a daemon. What its manifest does not say of one of the
// connector's operations is taken from what the connector publishes.
type Offer struct {
	aip.Contract
	Endpoint  string           // "" where it is not Hermes
	Operation hermes.Operation // likewise
}

// Terms are the offer's terms in one line, safe to show.
func (o Offer) Terms() string {
	known := func(s string) string {
		if s == "" {
			return "not said"
		}
		return client.SafeCode(s)
	}
	approval := "not said"
	if o.Approval != nil {
		approval = map[bool]string{true: "needed", false: "not needed"}[*o.Approval]
	}
	modes := "not said"
	if len(o.Modes) > 0 {
		modes = strings.Join(o.Modes, ", ") // of three known words
	}
	return fmt.Sprintf("risk %s, approval %s, key %s, modes %s", known(o.Risk), approval, known(o.Key), modes)
}

// Offers reads what the daemon offers, in its order.
func Offers(ctx context.Context, c Catalogue) ([]Offer, error) {
	m, err := c.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	offers := make([]Offer, 0, len(m.Capabilities))
	for _, k := range m.Capabilities {
		o := Offer{Contract: aip.ReadContract(k.Raw)}
		if endpoint, op, ok := hermes.ParseCapability(k.ID); ok {
			o.Endpoint, o.Operation = endpoint, op
			o.complete()
		}
		offers = append(offers, o)
	}
	return offers, nil
}

func (o *Offer) complete() {
	spec, ok := o.Operation.Spec()
	if !ok {
		return
	}
	if o.Risk == "" {
		o.Risk = string(spec.Risk)
	}
	if o.Approval == nil {
		o.Approval = &spec.NeedsConsent
	}
	if o.Key == "" {
		o.Key = map[bool]string{true: "required", false: "optional"}[spec.NeedsKey]
	}
	if o.Modes == nil {
		for _, mode := range []string{"sync", "async", "streaming"} {
			if spec.Allows(mode) {
				o.Modes = append(o.Modes, mode)
			}
		}
	}
}

// Endpoints are the Hermes endpoints of the offers, in order.
func Endpoints(offers []Offer) []string {
	var all []string
	for _, o := range offers {
		if o.Endpoint != "" && !slices.Contains(all, o.Endpoint) {
			all = append(all, o.Endpoint)
		}
	}
	return all
}

// Errors of choosing an endpoint.
var (
	ErrNoEndpoint    = errors.New("the daemon offers no Hermes endpoint")
	ErrManyEndpoints = errors.New("the daemon offers several Hermes endpoints")
)

// OneEndpoint is the only endpoint of the offers.
func OneEndpoint(offers []Offer) (string, error) {
	switch all := Endpoints(offers); len(all) {
	case 0:
		return "", ErrNoEndpoint
	case 1:
		return all[0], nil
	default:
		return "", fmt.Errorf("%w: %s", ErrManyEndpoints, strings.Join(all, ", "))
	}
}

// Find returns the offer of a capability.
func Find(offers []Offer, id string) (Offer, bool) {
	i := slices.IndexFunc(offers, func(o Offer) bool { return o.ID == id })
	if i < 0 {
		return Offer{}, false
	}
	return offers[i], true
}

// Nearest is the offered capability that was probably meant, or "".
func Nearest(offers []Offer, id string) string {
	ids := make([]string, len(offers))
	for i, o := range offers {
		ids[i] = o.ID
	}
	best := near.Name(id, ids...)
	if _, op, ok := hermes.ParseCapability(id); ok && best == "" {
		for _, o := range offers {
			if o.Operation == op {
				return o.ID
			}
		}
	}
	return best
}
