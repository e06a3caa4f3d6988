//go:build !linux

package sealed

import "os"

func mapFile(*os.File, int64) []byte { return nil }

func populate([]byte) {}

func unmapFile([]byte) {}

func dropPages([]byte) {}
