package introspect

import (
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/internal/webgate"
)

// logName is what log files are called: those of daemons, their standard output, audit logs, and what rotation makes of them. Other files
// of the directory, and other directories below it, such as those of containers, are not shown.
var logName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@+-]*\.(log|out|audit)(\.[0-9-]+)*$`)

// maxLogFiles bounds how many files the list shows.
const maxLogFiles = 2000

// logFiles lists the daemon's log files.
func (s *server) logFiles(w http.ResponseWriter, r *http.Request) {
	all, err := os.ReadDir(s.LogDir)
	if err != nil {
		s.Log.Warn("the directory of logs cannot be read", "directory", s.LogDir, "error", err)
		webgate.Refuse(w, r, answer.Errorf(answer.NotFound, "the directory of this daemon's logs cannot be read; its log says why"))
		return
	}
	files := make([]fs.FileInfo, 0, min(len(all), maxLogFiles))
	more := 0
	for _, e := range all {
		if !e.Type().IsRegular() || !logName.MatchString(e.Name()) {
			continue
		}
		if len(files) == maxLogFiles {
			more++
			continue
		}
		if info, err := e.Info(); err == nil { // else it has been rotated away
			files = append(files, info)
		}
	}
	_ = pages.Write(w, http.StatusOK, func(out io.Writer) error {
		fmt.Fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Logs</title><link rel=\"stylesheet\" href=%q></head>\n<body>\n<h1>Logs</h1>\n"+
			"<table><tr><th>Name</th><th>Bytes</th><th>Last Modified</th></tr>\n", pages.StylePath)
		for _, f := range files {
			fmt.Fprintf(out, "<tr><td><a href=\"/logs/%s\">%s</a></td><td class=\"size\">%d</td><td class=\"lastmodified\">%s</td></tr>\n", // UI2 reads names from a line in which a tag with a class follows
				url.PathEscape(f.Name()), html.EscapeString(f.Name()), f.Size(), pages.When(f.ModTime().UnixMilli()))
		}
		fmt.Fprint(out, "</table>\n")
		if more > 0 {
			fmt.Fprintf(out, "<p>%d more are not shown.</p>\n", more)
		}
		_, err := fmt.Fprint(out, "</body></html>\n")
		return err
	})
}

// logFile sends a log file, or the part of it that a Range header asks for, as it is.
func (s *server) logFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	f, info, err := s.openLog(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.Log.Warn("a log file cannot be shown", "file", name, "error", err)
		}
		webgate.Refuse(w, r, answer.Errorf(answer.NotFound, "this daemon has no log file of that name: /logs lists them"))
		return
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "text/plain;charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// openLog opens a log file; no link is followed.
func (s *server) openLog(name string) (*os.File, fs.FileInfo, error) {
	if !logName.MatchString(name) {
		return nil, nil, fs.ErrNotExist
	}
	f, err := os.OpenFile(filepath.Join(s.LogDir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // the name has no slash
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
