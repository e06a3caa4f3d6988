package confstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// Java's object streams, as far as Apache's store in ZooKeeper has them: HashMap of strings, and LinkedList of LogMutation.

// Marks in a stream.
const (
	tcNull       = 0x70
	tcReference  = 0x71
	tcClassDesc  = 0x72
	tcObject     = 0x73
	tcString     = 0x74
	tcBlockData  = 0x77
	tcEnd        = 0x78
	tcLongString = 0x7c
	firstHandle  = 0x7e0000
)

const (
	mapClass  = "java.util.HashMap"
	listClass = "java.util.LinkedList"
	logClass  = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.conf.YarnConfigurationStore$LogMutation"
)

var streamHead = []byte{0xac, 0xed, 0, 5}

// descriptions are those of the classes, as they stand in a stream behind their names.
var descriptions = map[string][]byte{
	mapClass: append([]byte{0x05, 0x07, 0xda, 0xc1, 0xc3, 0x16, 0x60, 0xd1, 0x03, 0, 2},
		"F\x00\x0aloadFactorI\x00\x09thresholdxp"...),
	listClass: append([]byte{0x0c, 0x29, 0x53, 0x5d, 0x4a, 0x60, 0x88, 0x22, 0x03, 0, 0}, "xp"...),
	logClass: append([]byte{0x6b, 0x9b, 0xe7, 0xc9, 0xa6, 0xa7, 0xeb, 0xf4, 0x02, 0, 2},
		"L\x00\x07updatest\x00\x0fLjava/util/Map;L\x00\x04usert\x00\x12Ljava/lang/String;xp"...),
}

// described is how many handles a description takes: its own and those of the strings in it.
var described = map[string]int{mapClass: 1, listClass: 1, logClass: 3}

// javaWriter writes a stream.
type javaWriter struct {
	b       []byte
	handles int
	classes map[string]int
}

func newJavaWriter() *javaWriter {
	return &javaWriter{b: slices.Clone(streamHead), classes: map[string]int{}}
}

// object begins an object of a class.
func (w *javaWriter) object(class string) {
	w.b = append(w.b, tcObject)
	if h, ok := w.classes[class]; ok {
		w.b = binary.BigEndian.AppendUint32(append(w.b, tcReference), uint32(firstHandle+h))
	} else {
		w.b = binary.BigEndian.AppendUint16(append(w.b, tcClassDesc), uint16(len(class)))
		w.b = append(append(w.b, class...), descriptions[class]...)
		w.classes[class] = w.handles
		w.handles += described[class]
	}
	w.handles++
}

func (w *javaWriter) text(s string) {
	t := modified(s)
	if len(t) > 0xffff {
		w.b = binary.BigEndian.AppendUint64(append(w.b, tcLongString), uint64(len(t)))
	} else {
		w.b = binary.BigEndian.AppendUint16(append(w.b, tcString), uint16(len(t)))
	}
	w.b = append(w.b, t...)
	w.handles++
}

// hashMap writes a map; a nil value is null. The order is that of names, which Java does not mind.
func (w *javaWriter) hashMap(m map[string]*string) {
	w.object(mapClass)
	buckets := 16
	for len(m) > buckets*3/4 {
		buckets *= 2
	}
	threshold := buckets * 3 / 4
	if len(m) == 0 {
		threshold = 0
	}
	w.b = append(w.b, 0x3f, 0x40, 0, 0)
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(threshold))
	w.b = binary.BigEndian.AppendUint32(append(w.b, tcBlockData, 8), uint32(buckets))
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(k)
		if m[k] == nil {
			w.b = append(w.b, tcNull)
		} else {
			w.text(*m[k])
		}
	}
	w.b = append(w.b, tcEnd)
}

// javaMap is a HashMap of strings as a stream.
func javaMap(values map[string]string) []byte {
	w := newJavaWriter()
	m := make(map[string]*string, len(values))
	for k, v := range values {
		m[k] = &v
	}
	w.hashMap(m)
	return w.b
}

// javaLog is a LinkedList of LogMutation as a stream.
func javaLog(attempts []Attempt) []byte {
	w := newJavaWriter()
	w.object(listClass)
	w.b = binary.BigEndian.AppendUint32(append(w.b, tcBlockData, 4), uint32(len(attempts)))
	for _, a := range attempts {
		w.object(logClass)
		w.hashMap(a.Updates)
		w.text(a.User)
	}
	w.b = append(w.b, tcEnd)
	return w.b
}

// modified is Java's own form of UTF-8.
func modified(s string) []byte {
	var b []byte
	for _, c := range utf16.Encode([]rune(s)) {
		switch {
		case c >= 1 && c <= 0x7f:
			b = append(b, byte(c))
		case c <= 0x7ff:
			b = append(b, 0xc0|byte(c>>6), 0x80|byte(c&0x3f))
		default:
			b = append(b, 0xe0|byte(c>>12), 0x80|byte(c>>6&0x3f), 0x80|byte(c&0x3f))
		}
	}
	return b
}

func unmodified(b []byte) (string, error) {
	var out []uint16
	for len(b) > 0 {
		n, c := 1, uint16(b[0])
		switch {
		case b[0]&0x80 == 0:
		case b[0]&0xe0 == 0xc0 && len(b) >= 2:
			n, c = 2, uint16(b[0]&0x1f)<<6|uint16(b[1]&0x3f)
		case b[0]&0xf0 == 0xe0 && len(b) >= 3:
			n, c = 3, uint16(b[0]&0xf)<<12|uint16(b[1]&0x3f)<<6|uint16(b[2]&0x3f)
		default:
			return "", errors.New("a text is not in Java's form of UTF-8")
		}
		out = append(out, c)
		b = b[n:]
	}
	return string(utf16.Decode(out)), nil
}

// javaReader reads a stream. Objects of other classes are refused, as by Apache.
type javaReader struct {
	b       []byte
	err     error
	handles []any // string; className; nil for other objects
}

type className string

func newJavaReader(b []byte) *javaReader {
	r := &javaReader{}
	if rest, ok := strings.CutPrefix(string(b), string(streamHead)); ok {
		r.b = []byte(rest)
	} else {
		r.fail("it is no stream of Java objects")
	}
	return r
}

func (r *javaReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

// take is the next n bytes; zeros after an error.
func (r *javaReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail("the stream of Java objects ends early")
		return make([]byte, min(max(n, 0), 8))
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *javaReader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }

func (r *javaReader) expect(bytes ...byte) {
	if got := r.take(len(bytes)); r.err == nil && string(got) != string(bytes) {
		r.fail("%x in the stream of Java objects where %x is expected", got, bytes)
	}
}

// reference is what a handle stands for.
func (r *javaReader) reference() any {
	h := int64(r.uint32()) - firstHandle
	if h < 0 || h >= int64(len(r.handles)) {
		r.fail("a reference in the stream of Java objects leads nowhere")
		return nil
	}
	return r.handles[h]
}

// object begins an object, which must be of that class.
func (r *javaReader) object(class string) {
	r.expect(tcObject)
	switch mark := r.take(1)[0]; {
	case r.err != nil:
	case mark == tcReference:
		if got := r.reference(); r.err == nil && got != className(class) {
			r.fail("an object is not of class %s", class)
		}
	case mark == tcClassDesc:
		name := string(r.take(int(binary.BigEndian.Uint16(r.take(2)))))
		if r.err == nil && name != class {
			r.fail("an object of class %.200q where one of %s is expected", name, class)
		}
		r.expect(descriptions[class]...)
		r.handles = append(r.handles, className(class))
		if class == logClass {
			r.handles = append(r.handles, "Ljava/util/Map;", "Ljava/lang/String;")
		}
	default:
		r.fail("%#x in the stream of Java objects where a class is expected", mark)
	}
	r.handles = append(r.handles, nil)
}

// text reads a string; nil: null.
func (r *javaReader) text() *string {
	n := 0
	switch mark := r.take(1)[0]; mark {
	case tcNull:
		return nil
	case tcReference:
		s, ok := r.reference().(string)
		if !ok {
			r.fail("a reference in the stream of Java objects leads to no text")
		}
		return &s
	case tcString:
		n = int(binary.BigEndian.Uint16(r.take(2)))
	case tcLongString:
		n = int(min(binary.BigEndian.Uint64(r.take(8)), maxFile))
	default:
		r.fail("%#x in the stream of Java objects where a text is expected", mark)
	}
	s, err := unmodified(r.take(n))
	if err != nil {
		r.fail("%w", err)
	}
	r.handles = append(r.handles, s)
	return &s
}

func (r *javaReader) hashMap() map[string]*string {
	r.object(mapClass)
	r.take(8) // load factor and threshold
	r.expect(tcBlockData, 8)
	r.take(4) // buckets
	n := r.uint32()
	out := map[string]*string{}
	for i := uint32(0); i < n && r.err == nil; i++ {
		k := r.text()
		v := r.text()
		if k == nil {
			r.fail("a map has null for a key")
			break
		}
		out[*k] = v
	}
	r.expect(tcEnd)
	return out
}

// readJavaMap reads a HashMap of strings. What is null or empty in it is as good as not there.
func readJavaMap(b []byte) (map[string]string, error) {
	r := newJavaReader(b)
	out := map[string]string{}
	for k, v := range r.hashMap() {
		if v != nil && *v != "" {
			out[k] = *v
		}
	}
	return out, r.err
}

// readJavaLog reads a LinkedList of LogMutation.
func readJavaLog(b []byte) ([]Attempt, error) {
	r := newJavaReader(b)
	r.object(listClass)
	r.expect(tcBlockData, 4)
	n := r.uint32()
	var out []Attempt
	for i := uint32(0); i < n && r.err == nil; i++ {
		r.object(logClass)
		a := Attempt{Updates: r.hashMap()}
		if user := r.text(); user != nil {
			a.User = *user
		}
		out = append(out, a)
	}
	r.expect(tcEnd)
	return out, r.err
}
