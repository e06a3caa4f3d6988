// Package x.
package tiny // want "package tiny has no package comment"
