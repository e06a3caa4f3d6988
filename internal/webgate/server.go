package webgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of the port; how slowly an answer may be taken is in terms.
const (
	headerTime     = 10 * time.Second
	bodyTime       = 60 * time.Second
	idleTime       = 60 * time.Second
	headerBytes    = 16 << 10
	maxConnections = 1000
)

// Server serves a handler with limits on times, sizes and connections.
type Server struct {
	http http.Server
	log  *slog.Logger
}

// NewServer is a server that has not begun to listen.
func NewServer(h http.Handler, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Server{log: log, http: http.Server{
		DisableGeneralOptionsHandler: true, // nothing is answered before the gate
		Handler:                      follow(h),
		ReadHeaderTimeout:            headerTime,
		ReadTimeout:                  bodyTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               headerBytes,
		ConnState:                    changed,
		ConnContext:                  func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, guestKey{}, c) },
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
}

// Serve takes connections until Stop. It returns nil after Stop.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(newPlaces(l, standardTerms, s.log))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving HTTP on %s: %w", l.Addr(), err)
}

// Stop lets running requests end until the context does, then cuts them off.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}
