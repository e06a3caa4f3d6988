package envfile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func over(environ ...string) *Vars {
	base := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		base[name] = value
	}
	return New(func(n string) (string, bool) { v, ok := base[n]; return v, ok })
}

// Each script is read over an environment; what is set by it, and what is named, is all there is.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct{ name, env, script, want string }{
		{"plain", "", "A=b\nexport B=c\n C=\"d e\" # said\nexport D='$A' E=$A-${B}\n", "A=b +B=c C=d e +D=$A +E=b-c"},
		{"the environment's stay exported", "A=1 B=2", "A=3\nunset B", "+A=3"},
		{"appended", "O=-Dx=1", "export O=\"$O -Dy=2\"\nO+=' -Dz=3'\nexport P=\"${P} -Dq\"", "+O=-Dx=1 -Dy=2 -Dz=3 +P= -Dq"},
		{"defaults", "A=a", "export X=${A:-x} Y=${N:-y/$A} Z=${N-$(program)} W=${A:-$(program)} V=${A:+set}\n", "+V=set +W=a +X=a +Y=y/a|s:1: its value is a program's output; none is run: Z=${N-$(program)} (Z: left as it was)"},
		{"lazy", "A=a", "X=${A:-$(program)}", "X=a"},
		{"defaults that stay", "A=a", ": ${A:=b} ${B:=c}\n: \"${C:=$(program)}\"\nD=$C\nE=${F:=g}$F", "B=c E=gg F=g" +
			"|s:2: its value is a program's output; none is run: \"${C:=$(program)}\"|s:3: it uses C, which a default sets in a way that is not read: D=$C (D: left as it was)"},
		{"continued", "", "export A=\"one \\\n  two\"\nB=x\\\ny", "+A=one   two B=xy"},
		{"home", "HOME=/h", "A=~/x", "A=/h/x"},
		{"two in a line", "", "A=1; export B=$A; export C\nC=2", "A=1 +B=1 +C=2"},
		{"declared", "", "declare -x A=1\nreadonly B=2\ntypeset C=3", "+A=1 B=2 C=3"},
		{"a program's output", "A=old", "export A=`program`\nB=$A\nA=new\nC=$A", "+A=new C=new" +
			"|s:1: its value is a program's output; none is run: A=`program` (A: left as it was)|s:2: it uses A, which s:1 sets in a way that is not read: B=$A (B: left as it was)"},
		{"a program whose answer is known", "", "A=x-$(hostname)-`uname -s`.log", "A=x-n1-Linux.log"},
		{"programs", "", "ulimit -n 65536\n. /etc/other\nA=1 program\necho hello; :", "" +
			"|s:1: not an assignment of a plain value; it is not run: ulimit -n 65536|s:2: not an assignment of a plain value; it is not run: . /etc/other|s:3: not an assignment of a plain value; it is not run: A=1 program"},
		{"conditions", "A=a", `if [ "$A" != "" ]; then B=1; fi
if [ -z "${C}" ] && [[ -n $A && ! $A == b* ]]; then C=2; else C=3; fi
if [[ -z $A ]]; then D=1; elif test x = x; then D=2; fi
[ -d ` + dir + ` ] && export E=dir
[ -f ` + dir + ` ] || F=none
[ -z $N ] && G=1
[ -x ` + dir + ` ] && H=1
[ -r ` + dir + `/none ] || I=1`, "B=1 C=2 D=2 +E=dir F=none G=1 H=1 I=1"},
		{"a condition that is a program", "A=a", "if program; then\n A=1\n B=2\nfi\nC=$A\nD=$B", "C=a" +
			"|s:1: an if-block whose condition is not run: if program; then (A, B: left as it was)|s:6: it uses B, which s:1 sets in a way that is not read: D=$B (D: left as it was)"},
		{"a case", "OS=Linux", "case ${OS} in\n Darwin*|BSD) A=1;;\n L*) A=2;;\n *) A=3;;\nesac", "A=2"},
		{"loops and functions", "", "for f in /x/*.jar; do J=$J:$f; done\nfunction g() { A=1; }\ng\nK=$J", "" +
			"|s:1: the block to line 1 is not run: for f in /x/*.jar; do J=$J:$f; done (f, J: left as it was)|s:3: not an assignment of a plain value; it is not run: g|s:4: it uses J, which s:1 sets in a way that is not read: K=$J (K: left as it was)"},
		{"what only a shell knows", "UID=7", "A=/run/$UID B=$0$# C=${BASH_SOURCE-x} D=$$\nif [ \"$EUID\" = 0 ]; then E=1; fi", "" +
			"|s:1: it uses UID, which a shell sets in a way that is not read: A=/run/$UID (A: left as it was)|s:1: it uses 0, which a shell sets in a way that is not read: B=$0$# (B: left as it was)" +
			"|s:1: it uses BASH_SOURCE, which a shell sets in a way that is not read: C=${BASH_SOURCE-x} (C: left as it was)|s:1: it uses $, which a shell sets in a way that is not read: D=$$ (D: left as it was)" +
			"|s:2: an if-block whose condition is not run: if [ \"$EUID\" = 0 ]; then E=1; fi (E: left as it was)"},
		{"a guard that returns", "SEEN=1", "A=1\nif [ -n \"$SEEN\" ]; then B=1; return; C=1; fi\nD=1\nE='", "A=1 B=1"},
		{"a guard that does not", "", "[ -n \"$SEEN\" ] && return 0\nfunction A() { :; }\nA=1\nunset -f A", "A=1"},
		{"a secret is not told", "", "O=\"-DtrustStorePassword=hunter2 $(program)\"", "|s:1: its value is a program's output; none is run: O=\"-DtrustStorePassword… (O: left as it was)"},
		{"not closed", "", "A=1\nB='x\nC=2", "A=1|s:2: not a shell's syntax (reached EOF without closing quote `'`); nothing is read from here on: B='x"},
		{"a stream", "", "A=<(program)", "|s:1: its value is a program's output; none is run: A=<(program) (A: left as it was)"},
		{"an array", "", "A=(1 2)\nB[1]=2", "|s:1: an array; it is not read: A=(1 2) (A: left as it was)|s:2: an array; it is not read: B[1]=2 (B: left as it was)"},
	} {
		v := over(strings.Fields(x.env)...)
		v.Answers = map[string]string{"hostname": "n1", "uname -s": "Linux"}
		unread := v.Read("s", x.script)
		var got []string
		for _, name := range slices.Sorted(maps.Keys(v.changed)) {
			switch c := v.changed[name]; {
			case c.set && c.exported:
				got = append(got, "+"+name+"="+c.value)
			case c.set:
				got = append(got, name+"="+c.value)
			}
		}
		slices.SortFunc(got, func(a, b string) int { return strings.Compare(strings.TrimPrefix(a, "+"), strings.TrimPrefix(b, "+")) })
		text := strings.Join(got, " ")
		for _, u := range unread {
			text += "|" + u.String()
		}
		if text != x.want {
			t.Errorf("%s:\n got %s\nwant %s", x.name, text, x.want)
		}
	}
}

func TestEnviron(t *testing.T) {
	v := over("A=1", "B=2", "C=3")
	v.Read("s", "A=4\nunset B\nexport D=5\nE=6")
	if got := fmt.Sprint(v.Environ([]string{"A=1", "B=2", "C=3"})); got != "[C=3 A=4 D=5]" {
		t.Error(got)
	}
	if _, ok := v.Exported("E"); ok || v.Value("E") != "6" {
		t.Error("E is the script's own")
	}
	if got, ok := v.Exported("D"); !ok || got != "5" {
		t.Error("D is for programs")
	}
}

// A value does not grow without bound, and a script neither.
func TestBounds(t *testing.T) {
	v := over()
	unread := v.Read("s", "A=0123456789abcdef\n"+strings.Repeat("A=$A$A\n", 100))
	if len(v.Value("A")) > MaxValue || len(unread) == 0 {
		t.Error(len(v.Value("A")), len(unread))
	}
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, make([]byte, MaxFile+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := v.File(path); err == nil || !strings.Contains(err.Error(), "not read") {
		t.Error(err)
	}
	if _, err := v.File(filepath.Dir(path)); err == nil {
		t.Error("a directory was read")
	}
	for _, none := range []string{path + ".none", path + "/.hadoop-env"} { // homes of services are such
		if unread, err := v.File(none); unread != nil || err != nil {
			t.Error(unread, err)
		}
	}
	pipe := filepath.Join(filepath.Dir(path), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := v.File(pipe); err == nil {
		t.Error("a pipe was read")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("export A=\"${B:-$(x)}\" C='d'\nif [ -z $A ]; then B=1; fi\ncase $A in x*) B=2;; esac\n[[ $A == [a-z]* ]] && C=~/x")
	f.Fuzz(func(t *testing.T, text string) {
		v := over("A=1", "B=2", "HOME=/h")
		v.Read("s", text)
		for name, x := range v.changed {
			if len(x.value) > MaxValue {
				t.Fatalf("%s has %d bytes", name, len(x.value))
			}
		}
	})
}
