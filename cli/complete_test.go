package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/pb"
)

// completable is a fake with applications, nodes and queues.
func completable(t *testing.T) *clienttest.RM {
	t.Helper()
	return clienttest.Start(t, methods{
		"getApplications": clienttest.Answer(&pb.GetApplicationsResponse{Applications: listed()[3:5]}), "getClusterNodes": nodesOf(simpleNode(22717, 11475, 3), simpleNode(22718, 11476, 0)),
		"getQueueInfo": queueAnswer(tree()), "getClusterNodeLabels": clienttest.Answer(&pb.GetClusterNodeLabelsResponse{NodeLabels: []*pb.NodeLabel{{Name: text("ssd")}}}),
	})
}

func TestComplete(t *testing.T) {
	dir := completable(t).ConfDir(t)
	for _, x := range []struct{ line, want string }{
		{"appl", "application applicationattempt"},
		{"--con", "--config"},
		{"--daemon st", "start status stop"},
		{"--daemon start res", "resourcemanager"},
		{"application -ki", "-kill"},
		{"application -laun", ""}, // not built
		{"application -kill application_1795305251364_0005 ", "application_1795305251364_0005 application_1795305251364_0006"},
		{"application -appStates RUNNING,FA", "RUNNING,FAILED"},
		{"application -status=application_1795305251364_0006", "-status=application_1795305251364_0006"},
		{"app -changeQueue root.prod.e", "root.prod.etl root.prod.etl.fast root.prod.etl.slow"},
		{"node -status local", "localhost:22717 localhost:22718"},
		{"node -list -states LO", "LOST"},
		{"node -list --output y", "yaml"},
		{"node -list -al", "-all"},
		{"rmadmin -refreshQ", "-refreshQueues"},
		{"rmadmin -updateNodeResource localhost:22717", "localhost:22717"},
		{"rmadmin -removeFromClusterNodeLabels ", "ssd"},
		{"debug b", "bundle"},
		{"completion z", "zsh"},
		{"logs -out ", ":files"},
		{"conf -for no", "nodemanager"},
		{"top -users c", "carol"},
		{"nonsense x", ""},
		{"timelineserv", ""}, // not built
		{"", ""},
	} {
		got := newWorld().run(append([]string{"--config", dir, "__complete", "--"}, strings.Split(x.line, " ")...)...)
		var words []string
		for line := range strings.Lines(got.out) {
			word, _, tab := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if !tab {
				t.Errorf("%q: %q has no tab", x.line, line)
			}
			words = append(words, word)
		}
		if x.line == "" {
			if !slices.Contains(words, "rmadmin") || slices.Contains(words, hiddenComplete) {
				t.Errorf("subcommands: %q", words)
			}
			continue
		}
		if strings.Join(words, " ") != x.want || got.code != 0 || got.err != "" {
			t.Errorf("%q: %q, want %q; %+v", x.line, words, x.want, got)
		}
	}
	// The configuration may be named on the line itself.
	got := newWorld().run("__complete", "--", "--config", dir, "node", "-status", "localhost:22718")
	if !strings.HasPrefix(got.out, "localhost:22718\t") {
		t.Errorf("%+v", got)
	}
	// Without a ResourceManager there is nothing to say, and no error.
	if got := newWorld().run("__complete", "--", "node", "-status", ""); got != (result{}) {
		t.Errorf("%+v", got)
	}
}

// The script of bash puts together what a shell would type.
func TestBashCompletion(t *testing.T) {
	dir := t.TempDir()
	script := newWorld().run("completion", "bash").out
	fake := "#!/bin/bash\nprintf '%s\\n' \"$@\" >" + dir + "/asked\nprintf 'localhost:22717\\tRUNNING\\nlocalhost:22718\\tLOST\\n'\n"
	for name, text := range map[string]string{"yarn": fake, "script": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	line := "yarn node -status localhost:227"
	run := exec.CommandContext(context.Background(), "bash", "--norc", "-c", `. "$1/script"; COMP_WORDBREAKS=$' \t\n:='; COMP_LINE=$2; COMP_POINT=${#2}; _yarn; printf '%s|' "${COMPREPLY[@]}"`, "bash", dir, line)
	run.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := run.CombinedOutput()
	if err != nil || string(out) != "22717|22718|" {
		t.Errorf("%v %q", err, out)
	}
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	if string(asked) != "__complete\n--\nnode\n-status\nlocalhost:227\n" {
		t.Errorf("%q", asked)
	}
	for _, shell := range []string{"zsh", "fish"} {
		if got := newWorld().run("completion", shell); got.code != 0 || !strings.Contains(got.out, "__complete -- ") {
			t.Errorf("%s: %+v", shell, got)
		}
	}
	if got := newWorld().run("completion", "tcsh"); got.code != 1 || !strings.Contains(got.err, "bash, zsh or fish") {
		t.Errorf("%+v", got)
	}
}

func TestManual(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if got := newWorld().run("man", "-out", dir); got != (result{}) {
		t.Fatalf("%+v", got)
	}
	for _, k := range documented() {
		b, err := os.ReadFile(filepath.Join(dir, "yarn-"+k.name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(b)
		for _, o := range k.options {
			if strings.Contains(page, "\n.B "+roff(strings.TrimSpace(o.syntax()))+"\n") != (o.absent == "") {
				t.Errorf("%s: -%s, absent %q", k.name, o.name, o.absent)
			}
		}
	}
	if got := newWorld().run("man", "app"); got.code != 0 || !strings.HasPrefix(got.out, `.TH YARN\-APPLICATION 1 `) || !strings.Contains(got.out, "\n.B yarn app\n") {
		t.Errorf("%+v", got)
	}
	if got := newWorld().run("man"); got.code != 0 || !strings.Contains(got.out, `.BR yarn\-node (1)`) || strings.Contains(got.out, "timelineserver") {
		t.Errorf("%+v", got)
	}
	if got := newWorld().run("man", "nonsense"); got.code != 1 {
		t.Errorf("%+v", got)
	}
	if got := roff(`.so -x\y`); got != `\&.so \-x\ey` {
		t.Error(got)
	}
}

// Usage texts show nothing that is not here.
func TestUsageLeavesOutWhatIsAbsent(t *testing.T) {
	dir := clienttest.Start(t, nil).ConfDir(t)
	for _, k := range documented() {
		if k.kind != clientCommand {
			continue
		}
		got := newWorld().run("--config", dir, k.name, "-help")
		for _, o := range k.options {
			if o.absent != "" && strings.Contains(got.out+got.err, " -"+o.name+" ") {
				t.Errorf("yarn %s -help lists -%s", k.name, o.name)
			}
		}
		if strings.Contains(got.out, "-directlyAccess") {
			t.Errorf("yarn %s -help: %s", k.name, got.out)
		}
	}
}
