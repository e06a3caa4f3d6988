package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ParseJSON reads the list of a role from the JSON form. The whole file is checked. The key of the other list is refused unless both lists are
// read from this file, for it would be ignored.
func ParseJSON(data []byte, role Role, both bool) (*List, error) {
	data, err := text(data)
	if err != nil {
		return nil, err
	}
	p := &jsonParser{decoder: json.NewDecoder(bytes.NewReader(data)), role: role, both: both}
	p.decoder.UseNumber()
	if err := p.run(); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("line %d: the JSON ends too soon", lineAt(data, len(bytes.TrimRight(data, "\n"))))
	} else if err != nil {
		return nil, fmt.Errorf("line %d: %w", lineAt(data, int(p.at)), err)
	}
	return &p.lists[role], nil
}

// jsonParser reads tokens: json.Unmarshal accepts keys in upper and lower case, and repeated ones, and does not give a value's line.
type jsonParser struct {
	decoder *json.Decoder
	role    Role
	both    bool
	lists   [2]List
	at      int64 // offset of what an error is about
}

func (p *jsonParser) run() error {
	if err := p.open('{', "an object"); err != nil {
		return err
	}
	err := p.members([]string{"include", "exclude"}, func(key string) error {
		role := Include
		if key == "exclude" {
			role = Exclude
		}
		if role != p.role && !p.both {
			return fmt.Errorf("%q would be ignored: this is the file of the %s list, and yarn.resourcemanager.nodes.%s-path does not name it too", key, p.role, role)
		}
		return p.list(role)
	})
	if err != nil {
		return err
	}
	if _, err := p.token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

func (p *jsonParser) token() (json.Token, error) {
	t, err := p.decoder.Token()
	p.at = p.decoder.InputOffset()
	return t, err
}

// open reads the brace or bracket that must be next; what names it in errors.
func (p *jsonParser) open(want json.Delim, what string) error {
	t, err := p.token()
	if err == nil && t != want {
		err = fmt.Errorf("%s is wanted, not %s", what, kind(t))
	}
	return err
}

// members reads the rest of an object. Unknown and repeated keys are errors; member reads the value of a key.
func (p *jsonParser) members(known []string, member func(key string) error) error {
	var seen []string
	for p.decoder.More() {
		t, err := p.token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // the decoder takes nothing else for a key
		if !slices.Contains(known, key) {
			return fmt.Errorf("%q is not known here; there is %s", clip(key), strings.Join(known, ", "))
		}
		if slices.Contains(seen, key) {
			return fmt.Errorf("%q stands here twice", key)
		}
		seen = append(seen, key)
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := p.token()
	return err
}

func (p *jsonParser) list(role Role) error {
	if err := p.open('[', "an array of hosts"); err != nil {
		return err
	}
	for p.decoder.More() {
		if err := p.open('{', `an object such as {"host": "n1"}`); err != nil {
			return err
		}
		if err := p.entry(role); err != nil {
			return err
		}
	}
	_, err := p.token()
	return err
}

// entry reads an entry whose brace has been read.
func (p *jsonParser) entry(role Role) error {
	begin := p.at
	known := []string{"host"}
	if role == Exclude {
		known = append(known, "timeoutSecs", "deadline", "reason")
	}
	var e Entry
	if err := p.members(known, func(key string) error { return p.field(&e, key) }); err != nil {
		return err
	}
	p.at = begin
	switch {
	case e.Host == "":
		return errors.New("an entry without host")
	case e.HasTimeout && e.Deadline != 0:
		return fmt.Errorf("%s has both timeoutSecs and deadline", e.Host)
	}
	return p.lists[role].addChecked(e)
}

func (p *jsonParser) field(e *Entry, key string) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if key == "timeoutSecs" {
		number, ok := t.(json.Number)
		n, err := strconv.ParseInt(string(number), 10, 32)
		if !ok || err != nil {
			return fmt.Errorf("timeoutSecs is a whole number of seconds, of at most 32 bits, not %s", kind(t))
		}
		e.Timeout, e.HasTimeout = int32(n), true
		return nil
	}
	value, ok := t.(string)
	if !ok {
		return fmt.Errorf("%s is text, not %s", key, kind(t))
	}
	switch key {
	case "host":
		if !isAddress(value) && (value == "" || strings.Trim(value, nameCharacters) != "") {
			return fmt.Errorf("host %q is neither a name nor an address", clip(value))
		}
		e.Host = value
	case "deadline":
		at, err := time.Parse(time.RFC3339, value)
		if err != nil || !rfc3339.MatchString(value) || at.UnixMilli() <= 0 {
			return fmt.Errorf("deadline %q is not a time since 1970 with its zone, such as 2026-11-24T18:00:00Z", clip(value))
		}
		e.Deadline = at.UnixMilli()
	case "reason":
		if len(value) > MaxReason {
			return fmt.Errorf("a reason of %d bytes is longer than %d", len(value), MaxReason)
		}
		if strings.ContainsFunc(value, unicode.IsControl) {
			return fmt.Errorf("reason %q has control characters", clip(value))
		}
		e.Reason = value
	}
	return nil
}

// rfc3339 is the form of times: time.Parse also accepts others, such as an hour of one digit.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// nameCharacters are those of host names; internationalized names are written with xn--.
const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// kind describes a token for an error.
func kind(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "an array"
	case string:
		return strconv.Quote(clip(t))
	}
	return clip(fmt.Sprint(t))
}

// clip bounds what an error shows of the file.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
