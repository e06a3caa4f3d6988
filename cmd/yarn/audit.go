package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/cli"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/logs"
)

// auditor is where a daemon's audit lines go, in the words of Hadoop's log4j.properties.
type auditor struct {
	prefix      string // of its properties: rm.audit.logger, rm.audit.containers, rm.audit.log.maxfilesize, rm.audit.log.maxbackupindex
	appender    string // that writes to a file of its own
	file        string
	logger      string
	permissions bool
}

var (
	auditorOfResourceManager = auditor{"rm.audit.", "RMAUDIT", "rm-audit.log", "resourcemanager.RMAuditLogger", true}
	auditorOfNodeManager     = auditor{"nm.audit.", "NMAUDIT", "nm-audit.log", "nodemanager.NMAuditLogger", false}
)

// openAudit opens the audit log. A daemon that logs to a file has it in another file beside that, one in the foreground among its other
// lines, unless rm.audit.logger (nm.audit.logger) names appenders: with RMAUDIT (NMAUDIT) among them it is the file, with NullAppender
// alone nothing, and with others the daemon's log.
func (j *journal) openAudit(s cli.Start, a auditor) (*audit.Log, error) {
	words := s.System[a.prefix+"logger"]
	word, appenders, named := strings.Cut(words, ",")
	least, err := level(word)
	if err != nil {
		return nil, fmt.Errorf("%slogger: %w", a.prefix, err)
	}
	if words == "" {
		least = j.least
	}
	var names []string
	for name := range strings.SplitSeq(appenders, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	if nowhere := !slices.ContainsFunc(names, func(name string) bool { return name != "NullAppender" }); nowhere || least > slog.LevelError {
		return nil, nil
	}
	out := j.out
	if slices.Contains(names, a.appender) || !named && s.LogFile != "" {
		if j.audit, err = a.open(s); err != nil {
			return nil, err
		}
		out = j.audit
	}
	containers := false
	if text := s.System[a.prefix+"containers"]; text != "" {
		if containers, err = strconv.ParseBool(text); err != nil {
			return nil, fmt.Errorf("%scontainers is %q, not true or false", a.prefix, text)
		}
	}
	j.auditLog = audit.New(out, audit.Options{Name: a.logger, Permissions: a.permissions, Containers: containers, Least: least, Log: j.Logger})
	return j.auditLog, nil
}

// open opens the file. Its bounds are those of the daemon's log unless it has its own.
func (a *auditor) open(s cli.Start) (*logs.File, error) {
	most, kept, err := bounds(s.System, "hadoop.log.", logs.DefaultSize, logs.DefaultKept)
	if err == nil {
		most, kept, err = bounds(s.System, a.prefix+"log.", most, kept)
	}
	if err != nil {
		return nil, err
	}
	return logs.OpenFile(filepath.Join(logDir(s), a.file), most, kept)
}
