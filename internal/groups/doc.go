// Package groups tells which groups a user belongs to, primary group first, by
// the mapping that hadoop.security.group.mapping names.
//
// Answers are kept. One that is older than CacheFor is looked up again by the
// next caller while others still get the old one; if that fails the old one
// serves up to ten times CacheFor. That a user has no groups, or could not be
// looked up, is remembered for NegativeFor.
package groups
