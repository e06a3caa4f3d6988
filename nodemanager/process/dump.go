package process

import (
	"fmt"
	"strings"
)

// MaxDump is how many processes of a tree are listed.
const MaxDump = 200

// Dump lists processes as Apache's NodeManager does in the diagnostics of a container that it kills: a heading, then a line
// for each. Times are in jiffies, although the heading says milliseconds (compat: ProcfsBasedProcessTree).
func (r Root) Dump(tree []Info) string {
	var b strings.Builder
	b.WriteString("\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) " +
		"RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n")
	for i, p := range tree {
		if i == MaxDump {
			fmt.Fprintf(&b, "\t|- and %d more\n", len(tree)-i)
			break
		}
		fmt.Fprintf(&b, "\t|- %d %d %d %d (%s) %d %d %d %d %s\n", p.PID, p.Parent, p.Group, p.Session, p.Name, p.User, p.System,
			p.Virtual, p.Resident, shown(r.CommandLine(p.PID)))
	}
	return b.String()
}

// shown is a command line as one line of text.
func shown(command string) string {
	line, _, _ := strings.Cut(command, "\n")
	if line == "" {
		return "N/A"
	}
	return strings.ToValidUTF8(strings.ReplaceAll(line, "\x00", " "), "\uFFFD")
}
