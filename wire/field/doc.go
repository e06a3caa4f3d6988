// Package field reads and appends the fields of protobuf messages where they lie,
// for what is too frequent or too exact for generated code: hot requests,
// identifiers inside tokens. It takes what every protobuf runtime takes, and
// bounds nothing itself: who walks over a message has bounded its size.
package field
