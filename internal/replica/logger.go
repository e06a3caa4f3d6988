package replica

import (
	"fmt"
	"log/slog"

	"go.etcd.io/raft/v3"
)

const failure = raft.SnapshotFailure

// logger is the log as raft wants it. What raft tells matters to whoever looks for a fault in it.
type logger struct{ to *slog.Logger }

func (l logger) Debug(v ...any)              { l.to.Debug(fmt.Sprint(v...), "logger", "raft") }
func (l logger) Debugf(f string, v ...any)   { l.to.Debug(fmt.Sprintf(f, v...), "logger", "raft") }
func (l logger) Info(v ...any)               { l.Debug(v...) }
func (l logger) Infof(f string, v ...any)    { l.Debugf(f, v...) }
func (l logger) Warning(v ...any)            { l.Debug(v...) }
func (l logger) Warningf(f string, v ...any) { l.Debugf(f, v...) }
func (l logger) Error(v ...any)              { l.to.Error(fmt.Sprint(v...), "logger", "raft") }
func (l logger) Errorf(f string, v ...any)   { l.to.Error(fmt.Sprintf(f, v...), "logger", "raft") }
func (l logger) Fatal(v ...any)              { panic(fmt.Sprint(v...)) }
func (l logger) Fatalf(f string, v ...any)   { panic(fmt.Sprintf(f, v...)) }
func (l logger) Panic(v ...any)              { panic(fmt.Sprint(v...)) }
func (l logger) Panicf(f string, v ...any)   { panic(fmt.Sprintf(f, v...)) }
