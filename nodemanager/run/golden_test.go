package run

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// recorded is a container as Apache's NodeManager has put it on disk, moved to another place.
type recording struct {
	files fs.FS
	name  string
	from  string // where the node's directories were
	to    string // and are now
}

func (r recording) file(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(r.files, r.name+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), r.from, r.to)
}

var (
	nodeDirs    = regexp.MustCompile(`PRELAUNCH_OUT="(.*)/userlogs/`)
	whitelisted = regexp.MustCompile(`(?m)^export (\w+)=\$\{\w+:-"(.*)"\}$`)
	exported    = regexp.MustCompile(`(?m)^export (\w+)="(.*)"$`)
	linked      = regexp.MustCompile(`(?m)^ln -sf -- "(.*)" "(.*)"$`)
	launched    = regexp.MustCompile(`(?m)^exec /bin/bash -c "(.*)"$`)
)

// The scripts of every recorded container are written again, byte for byte, from what its launch context must have been.
func TestRecordedContainers(t *testing.T) {
	files, err := golden.Open("containers")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := fs.Glob(files, "*/"+launchScript)
	if err != nil || len(scripts) < 8 {
		t.Fatalf("%d recorded containers, %v", len(scripts), err)
	}
	for _, script := range scripts {
		r := recording{files: files, name: filepath.Dir(script), to: t.TempDir()}
		t.Run(r.name, func(t *testing.T) {
			text, err := fs.ReadFile(files, script)
			if err != nil {
				t.Fatal(err)
			}
			r.from = nodeDirs.FindStringSubmatch(string(text))[1]
			want := r.file(t, launchScript)
			l, c := r.context(t, want)
			if err := l.Prepare(c); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]string{
				filepath.Join(c.WorkDir, launchScript):    want,
				filepath.Join(c.PrivateDir, launchScript): want,
				filepath.Join(c.WorkDir, wrapperScript):   r.file(t, wrapperScript),
				filepath.Join(c.WorkDir, sessionScript):   r.file(t, sessionScript),
				filepath.Join(c.WorkDir, tokensFile):      string(c.Tokens),
			} {
				if got := read(t, path); got != want {
					t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
				}
			}
			r.checkModes(t, c)
		})
	}
}

// context turns the script back into a launch context and the node's configuration.
func (r recording) context(t *testing.T, script string) (*Launcher, *Container) {
	t.Helper()
	value := map[string]string{}
	var order []string
	for _, m := range exported.FindAllStringSubmatch(script, -1) {
		order = append(order, m[1])
		value[m[1]] = m[2]
	}
	id, err := yarn.ParseContainerID(value["CONTAINER_ID"])
	if err != nil {
		t.Fatal(err)
	}
	c := &Container{ID: id, User: value["USER"], WorkDir: value["PWD"], WorkDirs: []string{value["PWD"]}, AppDirs: []string{value["LOCAL_DIRS"]},
		UserDirs: []string{value["LOCAL_USER_DIRS"]}, LogDir: value["LOG_DIRS"], LogDirs: []string{value["LOG_DIRS"]},
		PrivateDir: filepath.Join(r.to, "local/nmPrivate", id.Attempt.Application.String(), id.String()),
		Tokens:     noTokens, Aux: []Aux{{"mapreduce_shuffle", nil}}}
	c.Aux[0].Metadata = shufflePort(t, value["NM_AUX_SERVICE_mapreduce_shuffle"])
	for i, n := range strings.Split(value["LOCALIZATION_COUNTERS"], ",") {
		c.Counters[i], _ = strconv.ParseInt(n, 10, 64)
	}
	cfg := testConfig()
	cfg.Host, cfg.Home, cfg.Debug = value["NM_HOST"], value["HOME"], true
	cfg.Port, _ = strconv.Atoi(value["NM_PORT"])
	cfg.HTTPPort, _ = strconv.Atoi(value["NM_HTTP_PORT"])
	cfg.Environ, cfg.Whitelist = []string{"SECRET=x"}, []string{"HADOOP_HDFS_HOME", "SHELL"} // not there, and set by some containers
	for _, m := range whitelisted.FindAllStringSubmatch(script, -1) {
		cfg.Environ, cfg.Whitelist = append(cfg.Environ, m[1]+"="+m[2]), append(cfg.Whitelist, m[1])
	}
	unexpand := strings.NewReplacer(addOpens, addOpensMark, c.LogDir, logDirMark, "$JAVA_HOME", "{{JAVA_HOME}}", "$PWD", "{{PWD}}").Replace
	for _, name := range order[slices.Index(order, "NM_AUX_SERVICE_mapreduce_shuffle")+1 : len(order)-1] {
		c.Env = append(c.Env, Variable{name, strings.ReplaceAll(unexpand(value[name]), ":", separator)})
	}
	c.Env = append(c.Env, Variable{"HOME", "overwritten"})
	for _, m := range linked.FindAllStringSubmatch(script, -1) {
		c.Links = append(c.Links, Link{m[1], m[2]})
	}
	c.Command = strings.Split(unexpand(launched.FindStringSubmatch(script)[1]), " ")
	if _, err := fs.Stat(r.files, r.name+"/container_tokens.bin"); err == nil {
		c.Tokens = []byte(r.file(t, "container_tokens.bin"))
	}
	return New(cfg), c
}

func shufflePort(t *testing.T, value string) []byte {
	t.Helper()
	for port := range 1 << 16 {
		if metadata := []byte{0, 0, byte(port >> 8), byte(port)}; auxValue(metadata) == value {
			return metadata
		}
	}
	t.Fatalf("%q is no port", value)
	return nil
}

// checkModes compares what Prepare has made with the listings. Files ending in .crc are Hadoop's own and not made here.
func (r recording) checkModes(t *testing.T, c *Container) {
	t.Helper()
	listing, err := fs.ReadFile(r.files, "local-dirs.ls")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(listing)) {
		fields := strings.Fields(line)
		want[fields[4]] = fields[0]
	}
	for line := range strings.Lines(r.file(t, "workdir.ls")) {
		fields := strings.Fields(line)
		rel, _ := filepath.Rel(r.to, c.WorkDir)
		want[filepath.Join(rel, fields[3])] = fields[0]
	}
	want["userlogs"] = "drwxr-xr-x"
	seen := 0
	err = filepath.WalkDir(r.to, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == r.to {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(r.to, path)
		if mode, ok := want[rel]; ok {
			seen++
			if got := strings.Replace(info.Mode().String(), "L", "l", 1); got != mode {
				t.Errorf("%s: got %s, want %s", rel, got, mode)
			}
		}
		return nil
	})
	if err != nil || seen < 14 {
		t.Errorf("%d entries are in the recording, %v", seen, err)
	}
}

// What Apache's ContainerExecutor.writeLaunchEnv of 3.5.0 has written for the same, which no job of the recordings asks for.
const tricky = `export JVM_PID="$$"
export G="$$A"
export F="` + "`${#G}`" + `"
export E="'$F'"
export D="$(echo $E)"
export B=""'$C'"${D:-x}"
export A="$B $X"
export C="\$H"
export H="plain"q'$A"
echo "Setting up job resources"
ln -sf -- "/DIR/one" "one"
mkdir -p a/b
ln -sf -- "/f" "a/b/c"
echo "Launching container"
exec /bin/bash -c "cmd $JAVA_HOME:/logs|--add-opens=java.base/java.lang=ALL-UNNAMED --add-exports=java.base/sun.net.dns=ALL-UNNAMED --add-exports=java.base/sun.net.util=ALL-UNNAMED|$ "q""
`

func TestATrickyScript(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "one"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	e := newEnvironment([]Variable{{"A", "$B $X"}, {"B", `"'$C'"${D:-x}`}, {"C", `\$H`}, {"D", "$(echo $E)"}, {"E", "'$F'"}, {"F", "`${#G}`"}, {"G", "$$A"},
		{"H", `plain"q'$A`}, {"JVM_PID", "$$"}})
	links, err := expandLinks([]Link{{dir, "lib//deep/x*/*"}, {"/f", "a//b/c/"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.Environ = nil
	c := &Container{LogDir: "/logs", Command: []string{"cmd", "{{JAVA_HOME}}<CPS><LOG_DIR>|<ADD_OPENS>|}}{{", `"q"`}}
	_, got, _ := strings.Cut(New(cfg).script(c, e, []string{"JVM_PID"}, links), "variables\"\n")
	if got = strings.ReplaceAll(got, dir, "/DIR"); got != tricky {
		t.Errorf("got\n%s\nwant\n%s", got, tricky)
	}
}

func TestNoTokens(t *testing.T) {
	if want := new(token.Credentials).Append(nil); string(noTokens) != string(want) {
		t.Errorf("got %x, want %x", noTokens, want)
	}
}
