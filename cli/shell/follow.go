package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// How the submitter asks.
const (
	dialTime  = 3 * time.Second
	askTime   = 30 * time.Second
	retryTime = 500 * time.Millisecond
	showTime  = Patience / 5
	idlePause = 50 * time.Millisecond // beside a master that does not hold requests
)

// Follow fetches a job's events from its master and hands each to see, in
// order and once. urls are the ways to the master's page, the best first; when
// one fails the next is tried. It returns nil after the last event, or the
// error of the last try when ctx ends: whether the master is still there is for
// the caller to find out.
func Follow(ctx context.Context, urls []string, secret string, see func(Event)) error {
	return follow(ctx, urls, secret, see, retryTime)
}

func follow(ctx context.Context, urls []string, secret string, see func(Event), retry time.Duration) error {
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, MaxResponseHeaderBytes: maxHeader}
	defer transport.CloseIdleConnections()
	asker := &http.Client{Transport: transport, Timeout: askTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the proxy's, when there is no master to ask
	}}
	var next int64
	seen := false // everything, but the master may not know yet
	for way := 0; ; {
		page, err := ask(ctx, asker, urls[way%len(urls)], secret, next)
		pause := retry
		switch {
		case err == nil && page.Over && len(page.Events) == 0, err != nil && seen:
			return nil
		case err != nil:
			way++
		default:
			stop := keepUp(ctx, asker, urls[way%len(urls)], secret, next, showTime)
			for _, e := range page.Events {
				if e.Seq >= next {
					see(e)
					next = e.Seq + 1
				}
			}
			stop()
			seen = page.Over
			if pause = 0; len(page.Events) == 0 {
				pause = idlePause
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return cmp.Or(err, ctx.Err())
		}
	}
}

// keepUp keeps asking the master while the submitter handles events, which may
// take long, so that the master does not take it for dead. It acknowledges
// nothing.
func keepUp(ctx context.Context, asker *http.Client, base, secret string, from int64, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-time.After(every):
				_, _ = ask(ctx, asker, base, secret, from)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

func ask(ctx context.Context, asker *http.Client, base, secret string, from int64) (*Page, error) {
	address := strings.TrimSuffix(base, "/") + "/events/" + secret + "?from=" + strconv.FormatInt(from, 10)
	where := strings.TrimSuffix(base, "/") // without the secret
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("the master's page at %s cannot be asked: bad address", where)
	}
	res, err := asker.Do(r)
	if err != nil {
		return nil, fmt.Errorf("asking the master at %s: %w", where, cause(err))
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("asking the master at %s: %w", where, err)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("asking the master at %s: status %s", where, res.Status)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("asking the master at %s: an answer of more than %d bytes", where, maxAnswer)
	}
	page := &Page{}
	if err := json.Unmarshal(body, page); err != nil {
		return nil, fmt.Errorf("asking the master at %s: what it says does not parse: %w", where, err)
	}
	return page, nil
}

// cause is an error without the address, which holds the secret.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
