package filesystem

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, k := range []struct {
		text, want string
		parts      URL
	}{
		{"file:///a/b", "file:/a/b", URL{"file", "", "/a/b"}},
		{"file:/a//b/", "file:/a/b", URL{"file", "", "/a/b"}},
		{"hdfs://nn:8020/user/x/job.jar", "hdfs://nn:8020/user/x/job.jar", URL{"hdfs", "nn:8020", "/user/x/job.jar"}},
		{"hdfs://Cluster/a/./b/../c", "hdfs://Cluster/a/c", URL{"hdfs", "Cluster", "/a/c"}},
		{"hdfs://nn:8020", "hdfs://nn:8020/", URL{"hdfs", "nn:8020", "/"}},
		{"hdfs:///a", "hdfs:/a", URL{"hdfs", "", "/a"}},
		{"/tmp/logs", "/tmp/logs", URL{"", "", "/tmp/logs"}},
		{"http://u@h/a b%20?c#d", "http://u@h/a b%20?c#d", URL{"http", "u@h", "/a b%20?c#d"}},
		{"file:/../../etc", "file:/etc", URL{"file", "", "/etc"}},
		{"/a:b", "/a:b", URL{"", "", "/a:b"}},
	} {
		u, err := ParseURL(k.text)
		if err != nil || u != k.parts || u.String() != k.want {
			t.Errorf("%q: %#v (%s), %v", k.text, u, u, err)
		}
	}
	for text, why := range map[string]string{
		"":                                     "not absolute",
		"a/b":                                  "not absolute",
		"file:a":                               "not absolute",
		":/a":                                  "nothing stands before",
		"f_s:/a":                               "not a URL's scheme",
		"hdfs://a b/c":                         "not a host",
		"file:/a\x00b":                         "zero byte",
		"file:/" + strings.Repeat("a", MaxURL): "more than",
	} {
		if u, err := ParseURL(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v", clip(text), u, err)
		}
	}
}

func TestURLNames(t *testing.T) {
	u, _ := ParseURL("HDFS://NN:8020/Dir/File")
	if name, err := u.Name(); name != "File" || err != nil {
		t.Error(name, err)
	}
	if f := u.Folded(); f != (URL{"hdfs", "nn:8020", "/Dir/File"}) {
		t.Error(f)
	}
	if _, err := u.At("/").Name(); err == nil {
		t.Error("the root has no name")
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"file:///a", "hdfs://nn:1/a/../b", "//x", "a:b:c//", "http://h", "/..", ":", "x:///"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseURL(text)
		if err != nil {
			return
		}
		if !strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path, "//") {
			t.Fatalf("%q: path %q", text, u.Path)
		}
		if u.Scheme == "" && u.Authority != "" {
			return // no text says that: //host/path is the one form, and it holds
		}
		if again, err := ParseURL(u.String()); err != nil || again != u {
			t.Fatalf("%q: %#v becomes %#v, %v", text, u, again, err)
		}
	})
}
