package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// The one job that is served. Servers are started with the same values.
const (
	job  = "job_1700000000000_0007"
	app  = "application_1700000000000_0007"
	user = "bench"
)

var key = []byte{1, 2, 3, 4, 5, 6, 7, 8}

// outputs are the map outputs of the job: all partitions have one size.
type outputs struct {
	dir         string
	maps, parts int
	size        int
	noise       []byte // what partitions are cut from
}

const spread = 1 << 20 // partitions begin at so many places in the noise

func (o *outputs) flags(f *flag.FlagSet) {
	f.StringVar(&o.dir, "dir", "", "the local directory")
	f.IntVar(&o.maps, "maps", 1000, "map outputs")
	f.IntVar(&o.parts, "reduces", 20, "partitions of each")
	f.IntVar(&o.size, "size", 1<<10, "bytes of a partition")
}

func (o *outputs) ready() error {
	if o.dir == "" || o.maps < 1 || o.parts < 1 || o.size < 0 {
		return errors.New("-dir, -maps, -reduces and -size are needed")
	}
	o.noise = make([]byte, o.size+spread)
	x := uint64(88172645463325252)
	for i := 0; i < len(o.noise); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x)
		copy(o.noise[i:], b[:])
	}
	return nil
}

func attempt(m int) string { return fmt.Sprintf("attempt_1700000000000_0007_m_%06d_0", m) }

// raw is the decompressed length that the index claims.
func (o *outputs) raw(m, part int) int64 { return int64(o.size) + int64(m%5)*100 + int64(part) }

// content is what a partition has to be.
func (o *outputs) content(m, part int) []byte {
	at := (m*7919 + part*104729) % spread
	return o.noise[at : at+o.size]
}

// write makes the files of one map output, as a map task leaves them.
func (o *outputs) write(m int) error {
	folder := filepath.Join(o.dir, "usercache", user, "appcache", app, "output", attempt(m))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	data := make([]byte, 0, o.parts*o.size)
	var index []byte
	for part := range o.parts {
		index = binary.BigEndian.AppendUint64(index, uint64(len(data)))
		index = binary.BigEndian.AppendUint64(index, uint64(o.raw(m, part)))
		index = binary.BigEndian.AppendUint64(index, uint64(o.size))
		data = append(data, o.content(m, part)...)
	}
	index = binary.BigEndian.AppendUint64(index, uint64(crc32.ChecksumIEEE(index)))
	return errors.Join(os.WriteFile(filepath.Join(folder, "file.out"), data, 0o640),
		os.WriteFile(filepath.Join(folder, "file.out.index"), index, 0o640))
}

func prepare(args []string) error {
	f := flag.NewFlagSet("prepare", flag.ExitOnError)
	var o outputs
	o.flags(f)
	f.Parse(args)
	if err := o.ready(); err != nil {
		return err
	}
	for m := range o.maps {
		if err := o.write(m); err != nil {
			return err
		}
	}
	return nil
}
