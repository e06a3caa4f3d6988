// Package x is a sample.
package x
