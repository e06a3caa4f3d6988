package aggregated

import "encoding/binary"

// javaShape is a class as java.io.ObjectOutputStream describes it: fields in Java's order, numbers first, and the types of the fields that are objects.
type javaShape struct {
	name   string
	number uint64 // serialVersionUID
	flags  byte
	fields []javaField
	types  []string
}

// The types of fields.
const (
	javaMapType  = "Ljava/util/Map;"
	javaListType = "Ljava/util/List;"
	javaTextType = "Ljava/lang/String;"
)

var (
	javaMap = javaShape{"java.util.HashMap", 0x0507dac1c31660d1, flagSerial | flagWriteObject,
		[]javaField{{"loadFactor", 'F'}, {"threshold", 'I'}}, nil}
	javaList = javaShape{"java.util.ArrayList", 0x7881d21d99c7619d, flagSerial | flagWriteObject, []javaField{{"size", 'I'}}, nil}
	javaEnum = javaShape{"java.lang.Enum", 0, flagSerial | flagEnum, nil, nil}
)

// javaWriter writes what javaStream reads, as Java does: something that was written before is written as a reference.
type javaWriter struct {
	b       []byte
	handles uint32
	classes map[string]uint32 // handles, by name
	known   map[string]uint32 // handles of types and constants
	err     error
}

func newJavaWriter() *javaWriter {
	return &javaWriter{b: binary.BigEndian.AppendUint32(nil, javaHead), classes: map[string]uint32{}, known: map[string]uint32{}}
}

func (j *javaWriter) handle() uint32 {
	j.handles++
	return j.handles - 1
}

func (j *javaWriter) mark(m byte) { j.b = append(j.b, m) }

// number writes the low size bytes of n.
func (j *javaWriter) number(size int, n int64) {
	for size--; size >= 0; size-- {
		j.b = append(j.b, byte(n>>(8*size)))
	}
}

func (j *javaWriter) reference(handle uint32) {
	j.mark(markReference)
	j.number(4, int64(firstHandle+handle))
}

// short writes a text of less than 64 KiB.
func (j *javaWriter) short(s string) {
	b, err := appendText(j.b, s)
	if j.b = b; j.err == nil {
		j.err = err
	}
}

// text writes a string and returns its handle.
func (j *javaWriter) text(s string) uint32 {
	j.mark(markString)
	j.short(s)
	return j.handle()
}

func (j *javaWriter) class(c javaShape) {
	if at, ok := j.classes[c.name]; ok {
		j.reference(at)
		return
	}
	j.mark(markClass)
	j.short(c.name)
	j.number(8, int64(c.number))
	j.classes[c.name] = j.handle()
	j.mark(c.flags)
	j.number(2, int64(len(c.fields)))
	types := c.types
	for _, f := range c.fields {
		j.mark(f.kind)
		j.short(f.name)
		if f.kind == 'L' {
			j.typeName(types[0])
			types = types[1:]
		}
	}
	j.mark(markEnd)
	if c.flags&flagEnum != 0 && c.name != javaEnum.name {
		j.class(javaEnum)
	} else {
		j.mark(markNull)
	}
}

func (j *javaWriter) typeName(s string) {
	if at, ok := j.known[s]; ok {
		j.reference(at)
	} else {
		j.known[s] = j.text(s)
	}
}

// object begins an object; its fields follow in the order of its class.
func (j *javaWriter) object(c javaShape) {
	j.mark(markObject)
	j.class(c)
	j.handle()
}

// constant writes a constant of an enumeration.
func (j *javaWriter) constant(c javaShape, name string) {
	if at, ok := j.known[c.name+"."+name]; ok {
		j.reference(at)
		return
	}
	j.mark(markEnum)
	j.class(c)
	j.known[c.name+"."+name] = j.handle()
	j.text(name)
}

// mapOf begins a map of size pairs; end ends it.
func (j *javaWriter) mapOf(size int) {
	capacity := 16
	for size > capacity/4*3 {
		capacity *= 2
	}
	j.object(javaMap)
	j.number(4, 0x3f400000) // 0.75
	if size == 0 {
		j.number(4, 0) // threshold: the map has no table yet
	} else {
		j.number(4, int64(capacity/4*3))
	}
	j.mark(markBlock)
	j.mark(8)
	j.number(4, int64(capacity))
	j.number(4, int64(size))
}

// listOf begins a list of size elements; end ends it.
func (j *javaWriter) listOf(size int) {
	j.object(javaList)
	j.number(4, int64(size))
	j.mark(markBlock)
	j.mark(4)
	j.number(4, int64(size))
}

func (j *javaWriter) end() { j.mark(markEnd) }
