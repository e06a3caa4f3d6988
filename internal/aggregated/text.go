package aggregated

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/heddle-project/heddle/internal/visible"
)

// compat: the texts in this file are those of Hadoop, in which tools look for
// the lines that separate log files. A name that somebody gave a file cannot look
// like another of these lines.

// The values of Heading.Kind.
const (
	Aggregated = "AGGREGATED" // from the file system
	Local      = "LOCAL"      // from the node's own disk
)

// Heading is what stands above a log file's content.
type Heading struct {
	Container, Node string
	Kind            string
	File            string
	Modified        string // when, as EEE MMM dd HH:mm:ss Z yyyy
	Size            int64  // bytes of the whole file
}

// OnNode is the line that names a container and its node.
func OnNode(container, node string) string {
	return "Container: " + visible.Line(container) + " on " + visible.Line(node)
}

func (h Heading) String() string {
	first := OnNode(h.Container, h.Node)
	return fmt.Sprintf("%s\nLogAggregationType: %s\n%s\nLogType:%s\nLogLastModifiedTime:%s\nLogLength:%d\nLogContents:\n",
		first, h.Kind, strings.Repeat("=", units(first)), visible.Line(h.File), h.Modified, h.Size)
}

// Ending is what stands below the content of an aggregated log file.
func Ending(file string) string {
	file = visible.Line(file)
	return "\nEnd of LogType:" + file + "\n" + stars(file)
}

// LocalEnding is the same for a file on the node's own disk; running is the
// container that may still write to it, or "".
func LocalEnding(file, running string) string {
	file = visible.Line(file)
	more := ""
	if running != "" {
		more = "This log file belongs to a running container (" + running + ") and so may not be complete."
	}
	return "End of LogType:" + file + "." + more + "\n" + stars(file)
}

func stars(file string) string {
	return strings.Repeat("*", units("End of LogType:"+file)+50) + "\n\n"
}

// units is the length of s in Java.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// Window is the part of a file of size bytes that is wanted: the first bytes of
// it, or the last -bytes if that is negative.
func Window(size, bytes int64) (skip, length int64) {
	switch {
	case bytes >= 0:
		return 0, min(size, bytes)
	case bytes > -size: // no -bytes, which may overflow, before this
		return size + bytes, -bytes
	}
	return 0, size
}
