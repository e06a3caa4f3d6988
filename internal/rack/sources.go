package rack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/internal/command"
)

// Limits of the sources.
const (
	maxTable    = 32 << 20          // bytes
	maxOutput   = 2 * (MaxRack + 1) // bytes that a script may print per host
	concurrency = 8                 // name lookups at a time
)

// byScript runs the script once for the whole batch.
func (r *Resolver) byScript(ctx context.Context, batch []question) {
	r.addresses(ctx, batch)
	args := make([]string, len(batch))
	for i := range batch {
		args[i] = batch[i].address
	}
	out, err := command.Run(ctx, r.options.Timeout, maxOutput*len(batch), r.options.Script, args...)
	racks := strings.Fields(string(out))
	if err == nil && len(racks) != len(batch) {
		// compat: one value too few or too many spoils the whole run.
		err = fmt.Errorf("topology script %s printed %d racks for %d hosts", r.options.Script, len(racks), len(batch))
	}
	for i := range batch {
		if batch[i].err = err; err == nil {
			batch[i].rack = racks[i]
		}
	}
}

// byTable looks addresses and names up; who is not listed is in the default rack.
func (r *Resolver) byTable(ctx context.Context, batch []question) {
	r.addresses(ctx, batch)
	r.mu.Lock()
	table := r.table
	r.mu.Unlock()
	for i := range batch {
		batch[i].rack = cmp.Or(table[batch[i].address], table[batch[i].host], Default)
	}
}

// addresses resolves the names of a batch; one that does not resolve stands for
// itself.
func (r *Resolver) addresses(ctx context.Context, batch []question) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	slots := make(chan struct{}, concurrency)
	var all sync.WaitGroup
	for i := range batch {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			q := &batch[i]
			var err error
			if q.address, err = r.options.Address(ctx, q.host); err != nil || checkName(q.address) != nil {
				q.address = q.host
			}
		})
	}
	all.Wait()
}

// address is the text of the host's address as Java prints it.
func address(ctx context.Context, host string) (string, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return javaText(a), nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", errors.New("no addresses")
	}
	i := slices.IndexFunc(found, func(a netip.Addr) bool { return a.Unmap().Is4() })
	return javaText(found[max(i, 0)]), nil
}

// javaText prints eight groups without leading zeros for IPv6.
func javaText(a netip.Addr) string {
	a = a.Unmap()
	if a.Is4() {
		return a.String()
	}
	b := a.As16()
	groups := make([]string, 0, 8)
	for i := 0; i < len(b); i += 2 {
		groups = append(groups, strconv.FormatUint(uint64(b[i])<<8|uint64(b[i+1]), 16))
	}
	return strings.Join(groups, ":")
}

// readTable reads lines of host and rack; # at the beginning makes a comment.
// compat: lines that do not have two words are left out.
func readTable(path string) (map[string]string, error) {
	if path == "" {
		return nil, errors.New("it is not set, and racks are to be found by a table")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read topology table: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTable+1))
	if err != nil {
		return nil, fmt.Errorf("read topology table: %w", err)
	}
	if len(data) > maxTable {
		return nil, fmt.Errorf("read topology table %s: it is larger than %d bytes", path, maxTable)
	}
	table := map[string]string{}
	for line := range bytes.Lines(data) {
		words := strings.Fields(string(line))
		if len(words) == 2 && words[0][0] != '#' {
			table[words[0]] = words[1]
		}
	}
	return table, nil
}
