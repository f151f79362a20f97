// Package hermes knows what a Hermes server says, and what AIP's connector makes
// of it (wire/hermes.md).
//
// A provider's stream is server-sent events. A Record is one of them, byte for
// byte, as a chunk keeps it; Decode reads it, of whatever family and generation,
// as a Frame: text, a step of a tool, the provider's own end, usage, identifiers,
// or something unknown, which is kept and shown. Stored objects and replies that do
// not stream are read beside it.
//
// Check holds a request to the rules before anything of it is sent, each finding
// with its field. An Aggregate follows the connector's own rules from frames to
// chunks and to the result, so that the embedded daemon and the tests judge
// recordings as a real daemon would.
//
// Decisions rest on names, codes and typed fields, never on the text of a message.
package hermes
