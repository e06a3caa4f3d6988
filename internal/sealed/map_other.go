//go:build !linux

package sealed

import "os"

func mapFile(*os.File, int64) []byte { return nil }

func populate([]byte) (stop func()) { return func() {} }

func unmapFile([]byte) {}

func dropPages([]byte) {}
