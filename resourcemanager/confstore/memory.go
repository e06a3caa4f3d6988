package confstore

import (
	"context"
	"sync"
)

type memory struct {
	mu   sync.Mutex
	kept *State
}

// NewMemory is a store whose content ends with the process.
func NewMemory() Store { return &memory{kept: &State{}} }

// Load implements Store.
func (m *memory) Load(context.Context) (*State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept.Clone(), nil
}

// Commit implements Store.
func (m *memory) Commit(_ context.Context, was int64, next *State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept.Version != was {
		return &ConflictError{was, m.kept.Version}
	}
	m.kept = next.Clone()
	return nil
}

// Close implements Store; what is kept stays as long as the value does.
func (m *memory) Close() error { return nil }
