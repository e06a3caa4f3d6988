package tree

import "strconv"

// Draw is an object whose members a function writes, each time that the object is written. Long lists of large objects cost hardly any
// memory this way.
func Draw(members func(*Members)) *Object { return &Object{draw: members} }

// Members writes the members of an object, one after the other, in the form of the document. A member with an empty list is left out, as
// everywhere. The methods return m.
type Members struct {
	b       *out
	xml     bool
	written bool // a member of this object has been written
}

// Text writes a text.
func (m *Members) Text(name, v string) *Members {
	m.open(name)
	if m.xml {
		xmlText(m.b, v)
	} else {
		jsonText(m.b, v)
	}
	return m.shut(name)
}

// TextIf writes a text if ok.
func (m *Members) TextIf(ok bool, name, v string) *Members {
	if ok {
		m.Text(name, v)
	}
	return m
}

// Int writes a whole number.
func (m *Members) Int(name string, v int64) *Members {
	m.open(name)
	m.b.buf = strconv.AppendInt(m.b.buf, v, 10)
	return m.shut(name)
}

// Float writes a number as Java prints a float.
func (m *Members) Float(name string, v float32) *Members {
	m.open(name)
	quote := `"`
	if m.xml {
		quote = ""
	}
	m.b.buf = appendFloat(m.b.buf, float64(v), 32, quote)
	return m.shut(name)
}

// Bool writes true or false.
func (m *Members) Bool(name string, v bool) *Members {
	m.open(name)
	m.b.buf = strconv.AppendBool(m.b.buf, v)
	return m.shut(name)
}

// Object writes an object.
func (m *Members) Object(name string, draw func(*Members)) *Members {
	m.begin(name)
	m.object(name, draw)
	m.written = true
	return m
}

// Put writes an object that exists already.
func (m *Members) Put(name string, o *Object) *Members {
	m.separate()
	if m.xml {
		xmlElement(m.b, name, o)
		return m
	}
	jsonName(m.b, name, true)
	jsonObject(m.b, o)
	return m
}

// PutEach writes a list of objects that exist already.
func (m *Members) PutEach(name string, n int, one func(i int) *Object) *Members {
	if m.xml {
		for i := range n {
			m.Put(name, one(i))
		}
		return m
	}
	if n == 0 {
		return m
	}
	m.begin(name)
	m.b.byte('[')
	for i := range n {
		if i > 0 {
			m.b.byte(',')
		}
		jsonObject(m.b, one(i))
	}
	m.b.byte(']')
	return m
}

// Each writes a list of n objects.
func (m *Members) Each(name string, n int, draw func(i int, m *Members)) *Members {
	if n == 0 {
		return m
	}
	if !m.xml {
		m.open(name)
		m.b.byte('[')
	}
	for i := range n {
		if m.xml {
			m.begin(name)
		} else if i > 0 {
			m.b.byte(',')
		}
		m.object(name, func(m *Members) { draw(i, m) })
		m.written = true
	}
	if !m.xml {
		m.b.byte(']')
	}
	return m
}

// Written writes members that Since returned, in a document of the same form.
func (m *Members) Written(members []byte) *Members {
	if len(members) == 0 {
		return m
	}
	m.separate()
	m.b.buf = append(m.b.buf, members...)
	return m
}

// Mark is a place in an object, until the object is finished.
type Mark struct {
	at      int
	written bool
}

// Mark is the place where the next member will be.
func (m *Members) Mark() Mark { return Mark{len(m.b.buf), m.written} }

// Since returns the members from a place on, to be written again elsewhere. They are valid until the next member is written.
func (m *Members) Since(k Mark) []byte {
	text := m.b.buf[k.at:]
	switch {
	case len(text) == 0:
		return nil
	case m.xml && !k.written: // the end of the start tag
		text = text[1:]
	case !m.xml && k.written: // the comma
		text = text[1:]
	}
	return text
}

// XML tells the form of the document.
func (m *Members) XML() bool { return m.xml }

// separate writes what is between the last member, or the beginning, and the next one.
func (m *Members) separate() {
	switch {
	case m.xml && !m.written:
		m.b.byte('>')
	case !m.xml && m.written:
		m.b.byte(',')
	}
	m.written = true
}

// begin writes a member up to where its value, an object, begins.
func (m *Members) begin(name string) {
	m.separate()
	if m.xml {
		m.b.byte('<')
		m.b.text(name)
		return
	}
	m.b.byte('"')
	m.b.text(name)
	m.b.text(`":`)
}

func (m *Members) open(name string) {
	m.begin(name)
	if m.xml {
		m.b.byte('>')
	}
}

func (m *Members) shut(name string) *Members {
	if m.xml {
		xmlClose(m.b, name)
	}
	return m
}

// object writes an object; in XML its name has been begun.
func (m *Members) object(name string, draw func(*Members)) {
	m.written = false
	m.b.open++
	defer func() { m.b.open-- }()
	if !m.xml {
		m.b.byte('{')
		draw(m)
		m.b.byte('}')
		return
	}
	if draw(m); m.written {
		xmlClose(m.b, name)
	} else {
		m.b.text("/>")
	}
}
