package javaregexp

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for pattern, name := range map[string]string{
		"std": "my-stdout", "^sys.*$": "syslog", `\Q[a]\E`: "[a]", `[]a]x`: "]x", `[^]]y`: "ay", `\[[a-c&]+`: "[b&", "(?i)ERR": "stderr", `[a\]&&]z`: "",
		`x{2,}y{1}\p{L}\x{61}`: "xxyza", `[{]\{`: "{{", "(?<n>a)": "a",
	} {
		p, err := Parse(pattern)
		if name == "" {
			if err == nil {
				t.Errorf("%q was accepted", pattern)
			}
			continue
		}
		if err != nil || !p.MatchString(name) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	for _, pattern := range []string{"(?=a)", `(a)\1`, "a++", "[a-z&&[^b]]", "[a[b]]", "[", "(", "a{2000}", `a\v`, `\012`, `\12`, "a{", "{,3}", "a{1,b}", "(?U)a", "(?i-U:a)", "(?P<n>a)", `\p{^L}`, `\p{Greek}`, `\p{Yi}`, `\pm`, `\p{javaLowerCase}`, `\p`, `\p{`, "a(?i)*", "a(?!b)",
		strings.Repeat("(", 1001) + strings.Repeat(")", 1001),
		"((a{100}){100}){2}", strings.Repeat(`\pL{9}`, 100), `\`, strings.Repeat("a", MaxLength+1)} {
		if _, err := Parse(pattern); err == nil || !strings.Contains(err.Error(), "pattern") {
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
}

func TestParseWhole(t *testing.T) {
	for _, x := range []struct {
		pattern, name string
		want          bool
	}{
		{"(?:classes/|lib/).*", "lib/a.jar", true}, {"(?:classes/|lib/).*", "x/lib/a.jar", false}, // what MapReduce asks for
		{"a|b", "ab", false}, {`.*\.class`, "a/b.class", true}, {"[^/]+", "a/b", false}, {`\p{Lu}(?i)b`, "AB", true},
		{"std", "stdout", false}, {"out", "stdout", false}, {"std.*", "stdout", true}, {"s|stdout", "stdout", true}, {"a|ab", "xab", false}, {"(?:a|ab)c?", "abc", true},
		{"a*?", "aaa", true}, {"", "", true}, {"", "a", false}, {`\Qa`, "a", true}, {"^a$", "a", true}, {".*", strings.Repeat("a", maxName), true},
		{".*", strings.Repeat("a", maxName+1), false}, {"ü.", "üß", true},
	} {
		match, err := ParseWhole(x.pattern)
		if err != nil || match(x.name) != x.want {
			t.Errorf("%q on %.20q: not %v, %v", x.pattern, x.name, x.want, err)
		}
	}
	if _, err := ParseWhole("("); err == nil {
		t.Error("( was accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("(?:classes/|lib/).*", "lib/x")
	f.Add(`[a-z&&[^b]]\Qa\p{`, "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 1000 {
			return
		}
		if re, err := Parse(pattern); err == nil {
			re.MatchString(name)
		}
	})
}
