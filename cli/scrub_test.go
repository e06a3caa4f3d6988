package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/conf"
)

// scrubberOf is a scrubber for a configuration with these properties, NAME=VALUE.
func scrubberOf(t *testing.T, properties ...string) *scrubber {
	t.Helper()
	var site strings.Builder
	site.WriteString("<configuration>")
	for _, p := range properties {
		name, value, _ := strings.Cut(p, "=")
		site.WriteString("<property><name>" + name + "</name><value>" + html.EscapeString(value) + "</value></property>")
	}
	site.WriteString("</configuration>")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(site.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	props, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return newScrubber(props)
}

// The passwords for ZooKeeper are secrets: all of the property, each of its entries and the passwords alone.
func TestScrubZooKeeper(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte("digest:rm:zk-in-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for property, texts := range map[string][]string{
		"hadoop.zk.auth=digest:yarn:zk-one, digest:other:zk-two,sasl:zookeeper": {"zk-one", "zk-two", "auth info digest:yarn:zk-one!", "digest:other:zk-two"},
		"yarn.resourcemanager.zk-auth=digest:yarn:zk-one":                       {"zk-one", "digest:yarn:zk-one"},
		"my.zk.auth=@" + file: {"zk-in-a-file", "digest:rm:zk-in-a-file"},
	} {
		s := scrubberOf(t, property)
		for _, text := range texts {
			got := string(s.text([]byte("a " + text + " b")))
			if strings.Contains(got, "zk-") || !strings.HasPrefix(got, "a ") || !strings.HasSuffix(got, " b") {
				t.Errorf("%s: %s: %s", property, text, got)
			}
		}
		if got := string(s.text([]byte("digest auth of yarn by zookeeper"))); got != "digest auth of yarn by zookeeper" {
			t.Errorf("%s: innocent words: %s", property, got)
		}
	}
}

// A secret is found however the text spells it.
func TestScrubSpellings(t *testing.T) {
	const secret = `p<a>"b"&'c'\d/e f+ü`
	s := scrubberOf(t, "my.password="+secret)
	inJSON, _ := json.Marshal(secret)
	var inXML bytes.Buffer
	_ = xml.EscapeText(&inXML, []byte(secret))
	for name, text := range map[string]string{
		"raw": secret, "JSON": string(inJSON[1 : len(inJSON)-1]), "JSON without HTML": `p<a>\"b\"&'c'\\d/e f+ü`, "JSON of Java": `p<a>\"b\"&'c'\\d\/e f+ü`, "HTML": html.EscapeString(secret),
		"HTML of Java": `p&lt;a&gt;&quot;b&quot;&amp;'c'\d/e f+ü`, "XML": inXML.String(), "XML of Java": `p&lt;a&gt;&quot;b&quot;&amp;&apos;c&apos;\d/e f+ü`,
		"query": url.QueryEscape(secret), "query with %20": strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"), "path": url.PathEscape(secret),
	} {
		if got := string(s.text([]byte("x " + text + " y"))); got != "x "+mask+" y" {
			t.Errorf("%s: %s became %s", name, text, got)
		}
	}
}

// Passwords in addresses are masked up to the last @.
func TestScrubAddresses(t *testing.T) {
	s := scrubberOf(t)
	for text, want := range map[string]string{
		"to https://bob:pw@host/x":              "to https://bob:******@host/x",
		"https://bob:p@w@host/x":                "https://bob:******@host/x",
		"https://bob:p/w@host/x y@z":            "https://bob:******@host/x y@z",
		"https://bob:p/w@v@host:80":             "https://bob:******@host:80",
		"http://:pw@host":                       "http://:******@host",
		"http://host:8088/a@b":                  "http://host:8088/a@b",
		"http://host:8088/a,http://bob:pw@host": "http://host:8088/a,http://bob:******@host",
		"http://[::1]:8088/a@b":                 "http://[::1]:8088/a@b",
		"http://host/a:b@c":                     "http://host/a:b@c",
		`"http://a:80" and "me@b"`:              `"http://a:80" and "me@b"`,
		"http://bob:80@host/":                   "http://bob:******@host/",
		"http://bob:@host":                      "http://bob:@host",
	} {
		if got := string(s.text([]byte(text))); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}
