package localize

import (
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	for _, k := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "anything", true},
		{"(?:classes/|lib/).*", "lib/a.jar", true}, // what MapReduce asks for
		{"(?:classes/|lib/).*", "x/lib/a.jar", false},
		{"a|b", "ab", false},
		{`[\w&&]+`, "", false},
		{`.*\.class`, "a/b.class", true},
		{`[^/]+`, "a/b", false},
	} {
		re, err := compile(k.pattern)
		if strings.Contains(k.pattern, "&&") {
			if err == nil {
				t.Errorf("%q is not what Java takes it for", k.pattern)
			}
			continue
		}
		if err != nil || (re == nil || re.MatchString(k.name)) != k.want {
			t.Errorf("%q and %q: %v", k.pattern, k.name, err)
		}
	}
	for pattern, why := range map[string]string{
		"a(?!b)": "not supported", "a++": "not supported", `(a)\1`: "not supported", "(": "not supported",
		"[a[b]]": "a class within a class", "[a-z&&[^b]]": "intersection", `\v`: `\v`, `\Qa.b\E`: `\Q`, "(?U)a": "(?U", "[]a]": "begins with ]",
		"(?P<n>a)": "(?P", strings.Repeat("x{1000}", 11): "steps", strings.Repeat(`\pL`, 50): "steps",
		strings.Repeat("(", 1001) + strings.Repeat(")", 1001): "not supported", `\p{javaLowerCase}`: "not supported",
	} {
		if _, err := compile(pattern); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}
