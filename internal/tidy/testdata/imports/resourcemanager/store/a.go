// Package store is a sample.
package store

import _ "sample/yarn"
