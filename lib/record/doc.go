// Package record holds the records that the sessionhub tools and the hub
// exchange: what a line of the queue is, what a heartbeat says, what the hub
// tells people. It is the vocabulary of the project: Go types, their
// validation and their JSON form, and no I/O.
//
// Fields may be added to a record, none is renamed or removed. Unknown fields
// on input are ignored; a wrong type or a missing field is an error that names
// the field. The JSON Schemas in docs/schema are made from these types.
package record

// Version is the value of "v" in every record that this package writes.
const Version = 1
