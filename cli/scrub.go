package cli

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"

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

// harmless are values of properties with secret names that tell nothing.
var harmless = []string{"true", "false", "none", "simple", "token", "password", "secret"}

// newScrubber reads the secrets of a configuration. more are secrets from elsewhere.
func newScrubber(props *conf.Properties, more ...string) *scrubber {
	s := &scrubber{}
	s.secrets, _ = introspect.NewSecrets(conf.NewReader(props).Strings("hadoop.security.sensitive-config-keys"))
	add := func(value string) {
		if len(value) >= leastSecret && !slices.Contains(harmless, value) && value != mask {
			s.values = append(s.values, []byte(value))
		}
	}
	for _, v := range props.All() {
		if v.Origin.IsDefault() || !s.secrets.Hides(introspect.Property{Name: v.Name, Raw: v.Raw}) {
			continue
		}
		add(v.Value)
		add(v.Raw)
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

// What a secret looks like.
var (
	namedSecret = regexp.MustCompile(`(?i)(["']?[\w.\-]*(?:passw(?:or)?d|secret|token|credential|signature|authorization|cookie|hadoop\.auth|private[-_.]?key|api[-_.]?key|access[-_.]?key)[\w.\-]*(["']?)\s*[:=]\s*)` +
		`("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&"'<>{}\[\]]+)`)
	elementSecret  = regexp.MustCompile(`(?is)(<name>[^<]*(?:passw(?:or)?d|secret|credential)[^<]*</name>\s*<value>)([^<]*)(</value>)`)
	headerSecret   = regexp.MustCompile(`(?im)\b((?:proxy-)?authorization|(?:set-)?cookie|hadoop\.auth)(["']?\s*[:=]\s*)([^"'\r\n]+)`)
	argumentSecret = regexp.MustCompile(`(?i)(--?[\w-]*(?:passw(?:or)?d|secret|token)\s+)([^\s"'<]+)`)
	userInfo       = regexp.MustCompile(`(://[^\s/:@"']*:)([^\s/@"']+)(@)`)
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
	b = userInfo.ReplaceAll(b, []byte("${1}"+mask+"${3}"))
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

// clean tells whether none of the known secrets is in data that cannot be changed.
func (s *scrubber) clean(b []byte) bool {
	return !slices.ContainsFunc(s.values, func(v []byte) bool { return bytes.Contains(b, v) })
}
