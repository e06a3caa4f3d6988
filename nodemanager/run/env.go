package run

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// environment is variables in the order in which they were first set.
type environment struct {
	names  []string
	values map[string]string
}

func newEnvironment(vars []Variable) *environment {
	e := &environment{values: make(map[string]string, len(vars))}
	for _, v := range vars {
		e.set(v.Name, v.Value)
	}
	return e
}

func (e *environment) set(name, value string) {
	if _, ok := e.values[name]; !ok {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

// add puts the value behind what the variable has, as in a search path.
func (e *environment) add(name, value string) {
	if old, ok := e.values[name]; ok {
		value = old + ":" + value
	}
	e.set(name, value)
}

// entries are "NAME=value", as the kernel takes them.
func (e *environment) entries() []string {
	out := make([]string, len(e.names))
	for i, name := range e.names {
		out[i] = name + "=" + e.values[name]
	}
	return out
}

// check refuses what no process can have.
func (e *environment) check() error {
	for _, name := range e.names {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("environment of the container: %.100q is no name of a variable", name)
		}
		if strings.ContainsRune(e.values[name], 0) {
			return fmt.Errorf("environment of the container: the value of %.100q has a NUL byte", name)
		}
	}
	return nil
}

// environment is everything that the container gets, and the names of what the node sets, in order: those win over the
// launch context's.
func (l *Launcher) environment(c *Container) (*environment, []string) {
	e := newEnvironment(c.Env)
	l.addAdminEnv(e)
	l.forcePath(e)
	expand := l.expander(c, e)
	for _, name := range e.names {
		e.values[name] = expand(e.values[name])
	}
	own := l.ownVariables(c)
	names := make([]string, len(own))
	for i, v := range own {
		e.set(v.Name, v.Value)
		names[i] = v.Name
	}
	return e, names
}

// ownVariables are those that the node sets, in Apache's order.
func (l *Launcher) ownVariables(c *Container) []Variable {
	counters := make([]string, len(c.Counters))
	for i, n := range c.Counters {
		counters[i] = strconv.FormatInt(n, 10)
	}
	users := make([]string, len(c.UserDirs))
	for i, dir := range c.UserDirs {
		users[i] = strings.TrimSuffix(dir, "/") + "/"
	}
	out := []Variable{
		{placeMark, filepath.Join(c.WorkDir, tokensFile)},
		{mark, c.ID.String()},
		{"NM_PORT", strconv.Itoa(l.cfg.Port)},
		{"NM_HOST", l.cfg.Host},
		{"NM_HTTP_PORT", strconv.Itoa(l.cfg.HTTPPort)},
		{"LOCAL_DIRS", strings.Join(c.AppDirs, ",")},
		{"LOCAL_USER_DIRS", strings.Join(users, ",")},
		{"LOG_DIRS", strings.Join(c.LogDirs, ",")},
		{"USER", c.User},
		{"LOGNAME", c.User},
		{"HOME", l.cfg.Home},
		{"PWD", c.WorkDir},
		{"LOCALIZATION_COUNTERS", strings.Join(counters, ",")},
		{"JVM_PID", "$$"},
	}
	for _, aux := range c.Aux {
		out = append(out, Variable{"NM_AUX_SERVICE_" + aux.Name, auxValue(aux.Metadata)})
	}
	return out
}

// auxLength is how many bytes of metadata containers get.
const auxLength = 32

// auxValue is metadata as containers get it. compat: padded with zeros to the length of the buffer that ShuffleHandler
// makes; readers take what they need from its beginning.
func auxValue(metadata []byte) string {
	if short := auxLength - len(metadata); short > 0 {
		metadata = append(append([]byte(nil), metadata...), make([]byte, short)...)
	}
	return base64.StdEncoding.EncodeToString(metadata)
}

var reference = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)

// addAdminEnv adds the administrator's variables. $NAME in them is the container's, else the daemon's own, else nothing.
// compat: Apps.setEnvFromInputProperty puts the value behind what the container has set, so A=$A makes "x:x" of "x".
func (l *Launcher) addAdminEnv(e *environment) {
	for _, v := range l.cfg.AdminEnv {
		e.add(v.Name, reference.ReplaceAllStringFunc(v.Value, func(dollar string) string {
			if value, ok := e.values[dollar[1:]]; ok {
				return value
			}
			return l.own[dollar[1:]]
		}))
	}
}

// forcePath puts the administrator's directories before the container's PATH.
func (l *Launcher) forcePath(e *environment) {
	if l.cfg.ForcePath == "" {
		return
	}
	rest := e.values["PATH"]
	if rest == "" {
		rest = "$PATH"
	}
	e.set("PATH", l.cfg.ForcePath+":"+rest)
}

// What a text may stand for that only the node knows (org.apache.hadoop.yarn.api.ApplicationConstants).
const (
	logDirMark   = "<LOG_DIR>"
	separator    = "<CPS>"
	addOpensMark = "<ADD_OPENS>"
	addOpens     = "--add-opens=java.base/java.lang=ALL-UNNAMED --add-exports=java.base/sun.net.dns=ALL-UNNAMED " +
		"--add-exports=java.base/sun.net.util=ALL-UNNAMED"
)

// expander replaces such marks in commands and values, in Apache's order.
func (l *Launcher) expander(c *Container, e *environment) func(string) string {
	home := e.values["JAVA_HOME"]
	return func(text string) string {
		text = strings.ReplaceAll(text, logDirMark, c.LogDir)
		text = strings.ReplaceAll(text, separator, ":")
		if strings.Contains(text, addOpensMark) {
			options := ""
			if l.modernJava(home) {
				options = addOpens
			}
			text = strings.ReplaceAll(text, addOpensMark, options)
		}
		text = strings.ReplaceAll(text, "{{", "$")
		return strings.ReplaceAll(text, "}}", "")
	}
}

// ordered are the names such that a variable comes after those it mentions, otherwise as they were.
func (e *environment) ordered() []string {
	out := make([]string, 0, len(e.names))
	done := make(map[string]bool, len(e.names))
	var visit func(name string)
	visit = func(name string) {
		if done[name] {
			return
		}
		done[name] = true // before its own references: a circle is cut where it was entered
		for _, other := range mentions(e.values[name]) {
			if _, ok := e.values[other]; ok {
				visit(other)
			}
		}
		out = append(out, name)
	}
	for _, name := range e.names {
		visit(name)
	}
	return out
}

// mentions finds the variables that bash would look up in the value, which stands between double quotes: $NAME, ${NAME and
// ${#NAME. A backslash hides the byte that follows; single quotes hide what is in them once a double quote in the value
// has ended the outer ones.
func mentions(value string) []string {
	var out []string
	quoted := true
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case '\'':
			if !quoted {
				i = closingQuote(value, i+1)
			}
		case '$':
			rest := value[i+1:]
			if strings.HasPrefix(rest, "$") { // the shell's own id
				i++
				continue
			}
			if braced, ok := strings.CutPrefix(rest, "{"); ok {
				rest = strings.TrimPrefix(braced, "#")
			}
			if name := leadingName(rest); name != "" {
				out = append(out, name)
				i = len(value) - len(rest) + len(name) - 1
			}
		}
	}
	return out
}

// closingQuote is where the single quote is that ends the text from i on, or the end of the value.
func closingQuote(value string, i int) int {
	for ; i < len(value) && value[i] != '\''; i++ {
		if value[i] == '\\' {
			i++
		}
	}
	return i
}

func leadingName(text string) string {
	i := 0
	for i < len(text) && (isLetter(text[i]) || i > 0 && text[i] >= '0' && text[i] <= '9') {
		i++
	}
	return text[:i]
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
