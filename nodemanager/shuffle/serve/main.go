// Serve answers the reducers of one job from given local directories, without a
// NodeManager around it: for measuring the shuffle, and for trying clients.
//
//	serve -address 127.0.0.1:13562 -dirs /tmp/outputs -user bench -app application_1_0001 -key 0102030405060708
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/nodemanager/shuffle"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run() error {
	log := slog.New(logs.New(os.Stderr, slog.LevelWarn))
	cfg := shuffle.Config{Log: log}
	flag.StringVar(&cfg.Address, "address", fmt.Sprintf("127.0.0.1:%d", shuffle.DefaultPort), "host and port")
	flag.IntVar(&cfg.MaxConnections, "max-connections", 0, "connections (mapreduce.shuffle.max.connections)")
	flag.BoolVar(&cfg.KeepAlive, "keep-alive", false, "keep every connection (mapreduce.shuffle.connection-keep-alive.enable)")
	flag.Int64Var(&cfg.Readahead, "readahead", 4<<20, "bytes (mapreduce.shuffle.readahead.bytes)")
	flag.BoolVar(&cfg.Copy, "copy", false, "read and write instead of sendfile (mapreduce.shuffle.transferTo.allowed=false)")
	dirs := flag.String("dirs", "", "local directories, separated by commas")
	user := flag.String("user", "", "the job's user")
	name := flag.String("app", "", "the application's id")
	key := flag.String("key", "", "the job's key, in hexadecimal")
	flag.Parse()

	local := strings.Split(*dirs, ",")
	cfg.LocalDirs = func() []string { return local }
	app, err := yarn.ParseApplicationID(*name)
	if err != nil {
		return err
	}
	secret, err := hex.DecodeString(*key)
	if err != nil {
		return fmt.Errorf("-key: %w", err)
	}
	s, err := shuffle.New(cfg)
	if err != nil {
		return err
	}
	if err := s.InitApplication(app, *user, token.Token{Password: secret, Kind: "mapreduce.job"}.Append(nil)); err != nil {
		return errors.Join(err, s.Close(context.Background()))
	}
	return serve(s)
}

// serve answers until it is told to stop.
func serve(s *shuffle.Server) error {
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	select {
	case err := <-served:
		return err
	case <-stop.Done():
	}
	grace, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	_ = s.Close(grace) // what is not done by then is cut off
	return <-served
}
