package shell

import "strings"

// Line is a launch context's command that runs a program with exactly these
// arguments and variables, and its output in the container's log directory.
func Line(environment, argv []string) string {
	var b strings.Builder
	if len(environment) > 0 {
		b.WriteString("export")
		for _, pair := range environment {
			name, value, _ := strings.Cut(pair, "=")
			b.WriteString(" " + name + "=" + quote(value))
		}
		b.WriteString("; ")
	}
	b.WriteString("exec")
	for _, word := range argv {
		b.WriteString(" " + quote(word))
	}
	b.WriteString(` 1>"<LOG_DIR>/stdout" 2>"<LOG_DIR>/stderr"`)
	return inDoubleQuotes.Replace(b.String())
}

// quote makes a word of any text for bash. Behind each character that begins or
// ends what nodes replace (<LOG_DIR>, <CPS>, <ADD_OPENS>, {{, }}) the quoting is
// ended and begun again, which bash does not notice.
func quote(word string) string { return "'" + inSingleQuotes.Replace(word) + "'" }

var (
	inSingleQuotes = strings.NewReplacer(`'`, `'\''`, `{`, `{''`, `}`, `}''`, `<`, `<''`)
	// The node's script says exec /bin/bash -c "<commands>".
	inDoubleQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
)
