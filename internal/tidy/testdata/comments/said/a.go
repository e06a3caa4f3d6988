// Package said says what it is for.
package said
