// Package impl is a sample. // want "impls"
package impl
