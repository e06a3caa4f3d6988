package webgate

import "context"

// Caller is who asks.
type Caller struct {
	User      string // the authenticated name, or the static user's (dr.who)
	Anonymous bool   // nobody authenticated: may read, not change
	Address   string // the peer's IP address, for diagnostics and the audit log
}

type callerKey struct{}

// WithCaller is a context that carries who asks.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From is who asks. Without WithCaller it is an anonymous caller without a
// name, who may do nothing that needs rights.
func From(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(Caller); ok {
		return c
	}
	return Caller{Anonymous: true}
}
