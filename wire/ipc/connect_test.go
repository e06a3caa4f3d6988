package ipc

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Nobody listens at first: the server is looked for as often as the settings say.
func TestConnectRetries(t *testing.T) {
	for _, want := range []struct {
		retries, listens int // listens: at which try
		ok               bool
		tries            int
	}{
		{0, 1, true, 1},
		{0, 2, false, 1},
		{3, 4, true, 4},
		{3, 5, false, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			defer far.Close()
			var tries int
			var told []string
			began := time.Now()
			c := Connect{Retries: want.retries, Pause: time.Minute, Timeout: time.Second,
				Failed:  func(address string, _ error) { told = append(told, "failed "+address) },
				Reached: func(address string) { told = append(told, "reached "+address) },
				Dial: func(ctx context.Context, _ string) (net.Conn, error) {
					if tries++; tries == want.listens {
						return near, nil
					}
					<-ctx.Done() // a host that does not answer
					return nil, ctx.Err()
				}}
			_, err := c.dial(t.Context(), "rm:1")
			expected := slices.Repeat([]string{"failed rm:1"}, want.tries)
			took := time.Duration(want.tries)*time.Second + time.Duration(want.tries-1)*time.Minute
			if want.ok {
				expected[len(expected)-1] = "reached rm:1"
				took -= time.Second
			}
			if (err == nil) != want.ok || tries != want.tries || !slices.Equal(told, expected) || time.Since(began) != took {
				t.Errorf("%+v: %v after %d tries and %v: %q", want, err, tries, time.Since(began), told)
			}
		})
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := Connect{Retries: 1000, Pause: time.Hour, Timeout: time.Second, Dial: func(context.Context, string) (net.Conn, error) {
		cancel()
		return nil, errRefused
	}}
	if _, err := c.dial(ctx, "rm:1"); !errors.Is(err, errRefused) {
		t.Error(err)
	}
}
