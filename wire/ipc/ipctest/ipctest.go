// Package ipctest serves methods on a port of their own, for tests of what they answer.
package ipctest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/heddle-project/heddle/wire/ipc"
)

// Serve serves these methods until the test ends. The function that it returns has alice call one of them: body is the
// encoded request, and the result the encoded response.
func Serve(t *testing.T, methods map[string]ipc.Handler) func(method string, body []byte) ([]byte, error) {
	t.Helper()
	s, err := ipc.Listen(ipc.ServerConfig{Name: "test", Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodSimple}, Log: slog.New(slog.DiscardHandler),
		Protocols: []ipc.Protocol{{Name: "P", Version: 1, Methods: methods}}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "alice"}, Timeout: 10 * time.Second})
	t.Cleanup(func() {
		c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		<-done
	})
	return func(method string, body []byte) ([]byte, error) {
		return c.Call(t.Context(), s.Addr().String(), "P", method, body)
	}
}
