package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// bomb is a kind of archive that costs its reader more than its writer; make takes about how many entries, or how much of
// what the kind is about.
type bomb struct {
	name, ends string
	make       func(n int) []byte
	directory  bool // no archive but a directory of so many files
}

var bombs = []bomb{
	{name: "one header shared", ends: ".zip", make: sharedZip},
	{name: "many entries, zip", ends: ".zip", make: func(n int) []byte { return zipOf(n, 1, 0) }},
	{name: "many entries, tar", ends: ".tar.gz", make: manyFiles},
	{name: "long names", ends: ".jar", make: func(n int) []byte { return zipOf(n/32, 200, 0) }},
	{name: "zeros, zip", ends: ".zip", make: func(n int) []byte { return zipOf(3, 1, n*256) }},
	{name: "long links", ends: ".tgz", make: func(n int) []byte {
		return tarGz(n/8, func(i int) *tar.Header {
			return &tar.Header{Typeflag: tar.TypeSymlink, Name: fmt.Sprint("l", i), Linkname: strings.Repeat("t/", 1000)}
		})
	}},
	{name: "deep", ends: ".tar.gz", make: func(n int) []byte {
		return tarGz(n/16, func(i int) *tar.Header {
			return &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint(i, strings.Repeat("/d", i%120))}
		})
	}},
	{name: "large headers", ends: ".tar.gz", make: func(n int) []byte {
		return tarGz(8, func(i int) *tar.Header {
			return &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint("h", i), PAXRecords: map[string]string{"HEDDLE.x": strings.Repeat("x", min(n, 1_000_000))}}
		})
	}},
	{name: "a sparse file of many parts", ends: ".tar.gz", make: sparse},
	{name: "directories", ends: "", directory: true},
}

// sharedZip has n records in its directory, of names of their own, and one entry that all of them share.
func sharedZip(n int) []byte {
	one := zipOf(1, 8, 1)
	start, end := bytes.Index(one, []byte("PK\x01\x02")), bytes.LastIndex(one, []byte("PK\x05\x06"))
	record := one[start:end]
	out := bytes.NewBuffer(append(make([]byte, 0, start+n*len(record)+100), one[:start]...))
	for i := range n {
		copy(record[46:], fmt.Sprintf("%08d", i))
		out.Write(record)
	}
	size := out.Len() - start
	wide := make([]byte, 56+20+22) // the end in the form for large files
	little := binary.LittleEndian
	copy(wide, "PK\x06\x06")
	little.PutUint64(wide[4:], 44)
	little.PutUint64(wide[24:], uint64(n))
	little.PutUint64(wide[32:], uint64(n))
	little.PutUint64(wide[40:], uint64(size))
	little.PutUint64(wide[48:], uint64(start))
	copy(wide[56:], "PK\x06\x07")
	little.PutUint64(wide[64:], uint64(out.Len()))
	little.PutUint32(wide[72:], 1)
	copy(wide[76:], "PK\x05\x06")
	for i := 84; i < 96; i++ {
		wide[i] = 0xff
	}
	out.Write(wide)
	return out.Bytes()
}

// zipOf has n entries with names of a length and so many zeros in each.
func zipOf(n, name, zeros int) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	content := make([]byte, zeros)
	for i := range n {
		f, err := w.Create(fmt.Sprintf("%0*d", name, i))
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			panic(err) // a buffer takes everything
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// tarGz has n entries without content.
func tarGz(n int, header func(i int) *tar.Header) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for i := range n {
		if err := w.WriteHeader(header(i)); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func manyFiles(n int) []byte {
	return tarGz(n, func(i int) *tar.Header { return &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint("f", i)} })
}

// sparse is one file of n parts of no length, in GNU's oldest form: 21 of them in each block that goes on.
func sparse(n int) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	head := make([]byte, 512)
	copy(head, "sparse")
	copy(head[100:], "0000644\x000000000\x000000000\x0000000000000\x0000000000000\x00")
	head[156] = 'S'
	copy(head[257:], "ustar  \x00")
	part := func(b []byte) { copy(b, "00000000000\x0000000000000\x00") }
	for i := range 4 {
		part(head[386+24*i:])
	}
	head[482] = 1
	copy(head[483:], "00000000000\x00")
	sum := 0
	copy(head[148:156], "        ")
	for _, b := range head {
		sum += int(b)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	block := make([]byte, 512)
	for i := range 21 {
		part(block[24*i:])
	}
	block[504] = 1
	pieces := []io.Reader{bytes.NewReader(head)}
	for range n / 21 {
		pieces = append(pieces, bytes.NewReader(block))
	}
	last := bytes.Clone(block)
	last[504] = 0
	pieces = append(pieces, bytes.NewReader(last), bytes.NewReader(make([]byte, 1024)))
	if _, err := io.Copy(z, io.MultiReader(pieces...)); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}
