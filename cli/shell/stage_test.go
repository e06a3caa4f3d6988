package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

func TestFilesStayWhereTheyAre(t *testing.T) {
	path := write(t, "tool", "12345")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(path, link))
	s, err := Stage(t.Context(), properties(t), "alice", "", "app", []Source{{path, "a"}, {link, "b"}})
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	want := client.File{Scheme: "file", Path: path, Port: -1, Size: 5, Timestamp: info.ModTime().UnixMilli(), Type: client.PlainFile, Visibility: client.Private}
	if s.Dir != "" || s.Files["a"] != want || s.Files["b"] != want {
		t.Errorf("%+v", s)
	}
	must(t, Unstage(t.Context(), properties(t), "alice", s.Dir))
}

func TestFilesAreCopiedWhereNodesFindThem(t *testing.T) {
	base := t.TempDir()
	path := write(t, "tool", "12345")
	s, err := Stage(t.Context(), properties(t), "alice", "file://"+base+"/shared", "app", []Source{{path, "a"}})
	must(t, err)
	target := filepath.Join(base, "shared", "app", "a")
	info, err := os.Stat(target)
	must(t, err)
	if s.Files["a"] != (client.File{Scheme: "file", Path: target, Port: -1, Size: 5, Timestamp: info.ModTime().UnixMilli(), Type: client.PlainFile, Visibility: client.ApplicationOnly}) {
		t.Errorf("%+v", s)
	}
	if info.Mode().Perm()&0o055 != 0o055 {
		t.Errorf("%v: a node that runs as another user cannot read it", info.Mode())
	}
	must(t, Unstage(t.Context(), properties(t), "alice", s.Dir))
	must(t, Unstage(t.Context(), properties(t), "alice", s.Dir))
	if left, err := os.ReadDir(filepath.Join(base, "shared")); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "12345" {
		t.Error("the original is gone", err)
	}
}

func TestFilesThatCannotBeStaged(t *testing.T) {
	path := write(t, "tool", "12345")
	many := make([]Source, maxFiles+1)
	closed := write(t, "no-directory", "")
	for _, x := range []struct {
		base, fs string
		sources  []Source
		want     string
	}{
		{"", "file:///", []Source{{path, "a"}, {path, "a"}}, "two files"},
		{"", "file:///", []Source{{"/no/such/file", "a"}}, "/no/such/file"},
		{"", "file:///", []Source{{filepath.Dir(path), "a"}}, "not a regular file"},
		{"", "file:///", many, "files: it can be"},
		{"", "s3a://bucket", []Source{{path, "a"}}, "only on file: and hdfs:"},
		{"http://host/x", "file:///", []Source{{path, "a"}}, "only on file: and hdfs:"},
		{closed + "/x", "file:///", []Source{{path, "a"}}, "-staging names another place"},
	} {
		s, err := Stage(t.Context(), properties(t, "fs.defaultFS="+x.fs), "alice", x.base, "app", x.sources)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v %v", x.want, s, err)
		}
	}
}

func TestSources(t *testing.T) {
	for text, want := range map[string]Source{"a": {"a", "a"}, "/x/a": {"/x/a", "a"}, "/x/a#b": {"/x/a", "b"}, "./a b": {"./a b", "a b"}} {
		if got, err := ParseSource(text); err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "#a", "a#", "a#b/c", "a#..", "a#container_tokens", "/x/tmp", `a#"`, "a#$x", "a#`", "a#\n", "."} {
		if got, err := ParseSource(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAuthorities(t *testing.T) {
	for text, want := range map[string]client.File{"": {Port: -1}, "ns1": {Host: "ns1", Port: -1}, "nn:8020": {Host: "nn", Port: 8020}} {
		if host, port := authority(text); host != want.Host || port != want.Port {
			t.Error(text, host, port)
		}
	}
}
