// Package seldom keeps the log readable while something fails again and again.
package seldom

import (
	"sync"
	"time"
)

// Every is how often the same thing is logged.
const Every = time.Minute

// maxKnown bounds what a limit remembers. Beyond it everything is forgotten, and may pass once more.
const maxKnown = 100

// Limit passes each key at most once a minute. The zero value is ready, and safe for concurrent use.
type Limit struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// Pass tells whether key, which is what has happened, may be logged now.
func (l *Limit) Pass(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if at, ok := l.last[key]; ok && now.Sub(at) < Every {
		return false
	}
	if l.last == nil || len(l.last) >= maxKnown {
		l.last = map[string]time.Time{}
	}
	l.last[key] = now
	return true
}
