package cli

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/introspect"
)

// mask stands for a secret.
const mask = "******"

// scrubber takes secrets out of texts: the values of properties that hold secrets, wherever they appear, and what looks like a secret.
type scrubber struct {
	secrets *introspect.Secrets
	values  [][]byte // the longest first
}

// leastSecret is the length of the shortest value that is looked for everywhere; a shorter one would blot out innocent words.
const leastSecret = 4

// mostCredentials is how much of a file with credentials is read.
const mostCredentials = 64 << 10

// harmless are values of properties with secret names that tell nothing.
var harmless = []string{"true", "false", "none", "simple", "token", "password", "secret"}

// newScrubber reads the secrets of a configuration. more are secrets from elsewhere.
func newScrubber(props *conf.Properties, more ...string) *scrubber {
	s := &scrubber{}
	s.secrets, _ = introspect.NewSecrets(conf.NewReader(props).Strings("hadoop.security.sensitive-config-keys"))
	add := func(value string) {
		if len(value) < leastSecret || slices.Contains(harmless, value) || value == mask {
			return
		}
		for _, text := range spellings(value) {
			s.values = append(s.values, []byte(text))
		}
	}
	for _, v := range props.All() {
		if v.Origin.IsDefault() || !s.secrets.Hides(introspect.Property{Name: v.Name, Raw: v.Raw}) {
			continue
		}
		add(v.Value)
		add(v.Raw)
		if zkAuth.MatchString(v.Name) {
			for _, password := range zkPasswords(v.Value) {
				add(password)
			}
		}
	}
	for _, text := range more {
		add(text)
	}
	slices.SortFunc(s.values, func(a, b []byte) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b))
	})
	s.values = slices.CompactFunc(s.values, bytes.Equal)
	return s
}

// spellings are a value as it is, and as it stands in JSON, HTML, XML and addresses.
func spellings(value string) []string {
	inJSON := func(escapeHTML bool) string {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(escapeHTML)
		_ = e.Encode(value) // a string and a buffer: it cannot fail
		return string(bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(out.Bytes()), []byte{'"'}), []byte{'"'}))
	}
	inXML := func() string {
		var out bytes.Buffer
		_ = xml.EscapeText(&out, []byte(value))
		return out.String()
	}
	named := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
	query := url.QueryEscape(value)
	return []string{value, inJSON(true), inJSON(false), strings.ReplaceAll(inJSON(false), "/", `\/`), html.EscapeString(value), inXML(), named.Replace(value),
		strings.ReplaceAll(named.Replace(value), "&apos;", "'"), query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(value)}
}

// zkAuth are the names of properties with credentials for ZooKeeper.
var zkAuth = regexp.MustCompile(`(?i)zk[.-]auth$`)

// zkPasswords are the secrets in credentials for ZooKeeper, SCHEME:USER:PASSWORD with commas between, or @FILE with such a text, if this user may read it.
func zkPasswords(value string) (out []string) {
	if path, ok := strings.CutPrefix(strings.TrimSpace(value), "@"); ok {
		text, err := tail(path, mostCredentials)
		if err != nil {
			return nil
		}
		value = string(text)
	}
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.TrimSpace(entry)
		out = append(out, entry)
		if !strings.HasPrefix(entry, "sasl:") { // which has a user alone
			out = append(out, entry[strings.LastIndexByte(entry, ':')+1:])
		}
	}
	return out
}

// What a secret looks like.
var (
	namedSecret = regexp.MustCompile(`(?i)(["']?[\w.\-]*(?:passw(?:or)?d|secret|token|credential|signature|authorization|cookie|hadoop\.auth|private[-_.]?key|api[-_.]?key|access[-_.]?key)[\w.\-]*(["']?)\s*[:=]\s*)` +
		`("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&"'<>{}\[\]]+)`)
	elementSecret  = regexp.MustCompile(`(?is)(<name>[^<]*(?:passw(?:or)?d|secret|credential)[^<]*</name>\s*<value>)([^<]*)(</value>)`)
	headerSecret   = regexp.MustCompile(`(?im)\b((?:proxy-)?authorization|(?:set-)?cookie|hadoop\.auth)(["']?\s*[:=]\s*)([^"'\r\n]+)`)
	argumentSecret = regexp.MustCompile(`(?i)(--?[\w-]*(?:passw(?:or)?d|secret|token)\s+)([^\s"'<]+)`)
	privateKey     = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)
	webToken       = regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`)
	cloudKey       = regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)
	bareValue      = regexp.MustCompile(`^(?:-?[0-9.]+(?:[eE][-+]?[0-9]+)?|true|false|null)$`)
)

// text takes secrets out of a text.
func (s *scrubber) text(b []byte) []byte {
	for _, v := range s.values {
		b = bytes.ReplaceAll(b, v, []byte(mask))
	}
	b = privateKey.ReplaceAll(b, []byte(mask))
	b = elementSecret.ReplaceAll(b, []byte("${1}"+mask+"${3}"))
	b = headerSecret.ReplaceAll(b, []byte("${1}${2}"+mask))
	b = argumentSecret.ReplaceAll(b, []byte("${1}"+mask))
	b = userInfo(b)
	b = webToken.ReplaceAll(b, []byte(mask))
	b = cloudKey.ReplaceAll(b, []byte(mask))
	return namedSecret.ReplaceAllFunc(b, func(found []byte) []byte {
		m := namedSecret.FindSubmatch(found)
		name, quote, value := m[1], m[2], m[3]
		if string(quote) == `"` && bareValue.Match(value) { // a number of JSON, such as a count of tokens
			return found
		}
		out := slices.Clone(name)
		if value[0] == '"' || value[0] == '\'' {
			return append(append(append(out, value[0]), mask...), value[0])
		}
		return append(out, mask...)
	})
}

// userInfo takes the passwords out of addresses, ://USER:PASSWORD@HOST. A password may have an unescaped @ or / in it: it is taken to go to the last @.
func userInfo(b []byte) []byte {
	parts := bytes.Split(b, []byte("://"))
	for i, part := range parts[1:] {
		address := part
		if end := bytes.IndexAny(part, " \t\r\n\"'<>"); end >= 0 {
			address = part[:end]
		}
		user := bytes.IndexAny(address, ":/?#@[")
		end := bytes.LastIndexByte(address, '@')
		if user < 0 || address[user] != ':' || end <= user+1 || port.Match(address[user+1:]) {
			continue
		}
		parts[i+1] = slices.Concat(part[:user+1], []byte(mask), part[end:])
	}
	return bytes.Join(parts, []byte("://"))
}

// port is one of an address that has no password.
var port = regexp.MustCompile(`^[0-9]{1,5}[/?#]`)

// errNotClean is the error for data that cannot be changed and has a known secret in it.
var errNotClean = errors.New("a value of the configuration's secrets is in it")

// cleanRecording is an error if one of the known secrets is in a recording of commands, which is a line of text and then compressed data (see package
// blackbox), or if that cannot be told. A recording whose end is missing is looked through as far as it goes.
func (s *scrubber) cleanRecording(b []byte) error {
	line := bytes.IndexByte(b[:min(len(b), 64)], '\n')
	if line < 0 {
		return errors.New("it is no recording: its first line is missing")
	}
	zip, err := gzip.NewReader(bytes.NewReader(b[line+1:]))
	if err != nil {
		return fmt.Errorf("what is in it cannot be looked through: %w", err)
	}
	if err := s.clean(zip, bundleUnpacked); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("looking through it for secrets: %w", err)
	}
	return nil
}

// clean is an error if one of the known secrets is in data, if that has more bytes than most, or if it cannot be read.
func (s *scrubber) clean(in io.Reader, most int64) error {
	const piece = 256 << 10
	longest := 0
	if len(s.values) > 0 {
		longest = len(s.values[0])
	}
	buffer := make([]byte, 0, longest+piece)
	for read := int64(0); ; {
		n, err := in.Read(buffer[len(buffer) : len(buffer)+piece])
		buffer = buffer[:len(buffer)+n]
		if slices.ContainsFunc(s.values, func(v []byte) bool { return bytes.Contains(buffer, v) }) {
			return errNotClean
		}
		read += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case read > most:
			return fmt.Errorf("it has more than %d MiB unpacked: send it, too", most>>20)
		}
		kept := min(len(buffer), max(longest-1, 0)) // a secret may go on in the next piece
		copy(buffer, buffer[len(buffer)-kept:])
		buffer = buffer[:kept]
	}
}
