package clienttest

import "net/netip"

// anyProxy lets everybody act for anybody.
type anyProxy struct{}

func (anyProxy) Allow(realUser, effectiveUser string, from netip.Addr) error { return nil }
