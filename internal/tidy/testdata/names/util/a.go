// Package util is a sample. // want "util"
package util
