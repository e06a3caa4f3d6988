package localizer

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/ipc"
)

func TestHeartbeat(t *testing.T) {
	var log strings.Builder
	s, err := ipc.Listen(ipc.ServerConfig{Name: "localizer", Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodSimple},
		Protocols: []ipc.Protocol{New(nil, slog.New(slog.NewTextHandler(&log, nil)))}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "alice"}})
	call := func(body []byte) ([]byte, error) {
		return c.Call(t.Context(), s.Addr().String(), Name, "heartbeat", body)
	}
	status := field.AppendText(nil, idField, "container_1_0001_01_000002")
	status, resource := field.Open(status, 2)
	status = field.Shut(field.AppendInt(status, 2, 1), resource)
	for _, body := range [][]byte{status, nil, field.AppendText(nil, idField, strings.Repeat("x", 10_000))} {
		if got, err := call(body); err != nil || !bytes.Equal(got, []byte{8, 2}) {
			t.Errorf("%x %v", got, err)
		}
	}
	var refused *ipc.RemoteError
	if _, err := call([]byte{0x0a, 0x7f}); !errors.As(err, &refused) || refused.Class != ipc.ClassServer {
		t.Error(err)
	}
	c.Close()
	if err := errors.Join(s.Close(t.Context()), <-served); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "localizer=container_1_0001_01_000002 user=alice") || len(text) > 2000 {
		t.Error(len(text), text)
	}
}
