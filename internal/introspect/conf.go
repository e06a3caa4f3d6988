package introspect

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/visible"
)

// Property is a property of the configuration.
type Property struct {
	Name   string
	Raw    string // as written
	Value  string // with ${variables} filled in
	Source string // the file's name
	Final  bool
}

// Secrets knows which properties are not told.
type Secrets struct {
	all      bool // everything is a secret: an expression was not understood
	patterns []*regexp.Regexp
}

// always are names that hold secrets whatever the configuration says. Credentials for ZooKeeper have the password in them (digest:user:password).
var always = []string{`(?i)zk[.-]auth$`, "(?i)secret$", "(?i)passw(or)?d$", "(?i)credential$", "(?i)keystore.pass$", `hadoop\.security\.sensitive-config-keys`}

// NewSecrets reads the expressions of hadoop.security.sensitive-config-keys, which
// are searched for anywhere in a name, and adds those that are always there. bad
// are those that cannot be read: then everything is a secret.
func NewSecrets(expressions []string) (s *Secrets, bad []string) {
	s = &Secrets{}
	for _, text := range append(append([]string(nil), expressions...), always...) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		re, err := regexp.Compile(text)
		if err != nil {
			s.all, bad = true, append(bad, text)
			continue
		}
		s.patterns = append(s.patterns, re)
	}
	return s, bad
}

func (s *Secrets) has(name string) bool {
	if s.all {
		return true
	}
	for _, re := range s.patterns {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}

// variable is a reference to another property.
var variable = regexp.MustCompile(`\$\{([^}$ ]+)\}`)

// Hides tells whether a value must not be told: because of the property's name,
// or because a secret is filled in.
func (s *Secrets) Hides(p Property) bool {
	if s.has(p.Name) {
		return true
	}
	for _, m := range variable.FindAllStringSubmatch(p.Raw, -1) {
		if s.has(m[1]) {
			return true
		}
	}
	return false
}

// conf tells the configuration as XML, or as JSON if the caller accepts that or
// says format=json; with name=PROPERTY only that.
func (s *server) conf(w http.ResponseWriter, r *http.Request) {
	write, contentType := s.confXML, "text/xml;charset=utf-8"
	switch format := r.FormValue("format"); {
	case format == "json" || format == "" && strings.Contains(r.Header.Get("Accept"), "json"):
		write, contentType = s.confJSON, "application/json;charset=utf-8"
	case format != "" && format != "xml":
		answer.Plain(w, http.StatusBadRequest, "Bad format: want json or xml")
		return
	}
	list, one := s.Properties(), r.FormValue("name")
	if one != "" {
		list = named(list, one)
		if len(list) == 0 {
			answer.Plain(w, http.StatusNotFound, "Property "+one+" not found")
			return
		}
	}
	w.Header().Set("Content-Type", contentType)
	out := bufio.NewWriter(w)
	write(out, list, one != "")
	_ = out.Flush()
}

func named(list []Property, name string) []Property {
	for _, p := range list {
		if p.Name == name && p.Value != "" {
			return []Property{p}
		}
	}
	return nil
}

// confXML tells values as they are written. compat: a secret is six stars.
func (s *server) confXML(w *bufio.Writer, list []Property, _ bool) {
	_, _ = w.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?><configuration>\n")
	for _, p := range list {
		value := p.Raw
		if s.secrets.Hides(p) {
			value = "******"
		}
		_, _ = w.WriteString("<property>")
		element(w, "name", p.Name)
		element(w, "value", value)
		element(w, "final", boolean(p.Final))
		element(w, "source", p.Source)
		_, _ = w.WriteString("</property>\n")
	}
	_, _ = w.WriteString("</configuration>\n")
}

func element(w io.Writer, name, text string) {
	_, _ = io.WriteString(w, "<"+name+">")
	_ = xml.EscapeText(w, []byte(text))
	_, _ = io.WriteString(w, "</"+name+">")
}

func boolean(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// confJSON tells values with their variables filled in.
func (s *server) confJSON(w *bufio.Writer, list []Property, one bool) {
	type property struct {
		Key      string `json:"key"`
		Value    string `json:"value"`
		Final    bool   `json:"isFinal"`
		Resource string `json:"resource"`
	}
	told := make([]property, len(list))
	for i, p := range list {
		told[i] = property{p.Name, p.Value, p.Final, p.Source}
		if s.secrets.Hides(p) {
			told[i].Value = "<redacted>"
		}
	}
	out := visible.NewWriter(w)
	defer out.Flush() //nolint:errcheck // so are those of w
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if one {
		_ = e.Encode(map[string]property{"property": told[0]})
		return
	}
	_ = e.Encode(map[string][]property{"properties": told})
}
