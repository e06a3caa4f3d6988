package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
)

var refreshNodesOptions = []option{
	{name: "refreshNodes"},
	{name: "g", long: "graceful", arg: "timeout", values: 1, optional: true},
	{name: "client"},
	{name: "server"},
}

// refreshNodes has the ResourceManager read the lists of nodes anew. With -g excluded nodes are decommissioned gracefully; with -client
// the command then waits for them.
func refreshNodes(c *call, args []string) error {
	p, err := parse(refreshNodesOptions, args)
	if err != nil {
		return adminParseError(err)
	}
	if !p.has("g") {
		return c.refreshNodesNow(p)
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	seconds := client.NoTimeout
	if word := p.first("g"); word != "" {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < -1 {
			return badArgument("Invalid timeout specified : %s", word)
		}
		seconds = int32(n)
	}
	if !p.has("client") && !p.has("server") {
		c.adminUsage("-refreshNodes")
		return failed
	}
	if len(p.words) > 0 {
		return fmt.Errorf("%s belongs to nothing: the timeout stands right after -g, as in -refreshNodes -g 600 -server. Nothing was done", p.words[0])
	}
	if err := rm.RefreshNodes(c.ctx, client.DecommissionGraceful, &seconds); err != nil || !p.has("client") {
		return err
	}
	return c.awaitDecommission(rm, seconds)
}

// refreshNodesNow is -refreshNodes without -g. It refuses words that only make sense with -g: Apache's command ignores them, and whoever
// forgot -g loses containers.
func (c *call) refreshNodesNow(p *parsed) error {
	timeout, wait, meant := "", "-server", p.words
	for _, name := range []string{"client", "server"} {
		if p.has(name) {
			meant = append(meant, "-"+name)
		}
	}
	if p.has("client") {
		wait = "-client"
	}
	for _, word := range p.words {
		if n, err := strconv.ParseInt(word, 10, 32); err == nil && n >= -1 {
			timeout = word + " "
		}
	}
	if len(meant) > 0 {
		return fmt.Errorf("%s means nothing without -g: did you mean -refreshNodes -g %s%s? As it stands all containers on excluded nodes would be lost at once. Nothing was done.",
			strings.Join(meant, " "), timeout, wait)
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	return rm.RefreshNodes(c.ctx, client.DecommissionNow, nil)
}

// adminParseError drops the exception's class, which rmadmin does not print.
func adminParseError(err error) error {
	var java javaError
	if errors.As(err, &java) {
		return errors.New(java.message)
	}
	return err
}

// decommissionGrace is how many seconds after the timeout the ResourceManager has to end the decommission by itself.
const decommissionGrace = 5

// awaitDecommission asks every second which nodes are still DECOMMISSIONING. After the timeout and decommissionGrace it has all of them
// decommissioned by force. seconds below 0: no timeout.
func (c *call) awaitDecommission(rm *client.Client, seconds int32) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for waited := int64(0); seconds < 0 || waited < int64(seconds)+decommissionGrace; waited++ {
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
		nodes, err := rm.Decommissioning(c.ctx)
		if err != nil {
			return err
		}
		if len(nodes) == 0 {
			fmt.Fprintf(c.Stdout, "Graceful decommissioning completed in %d seconds.\n", waited)
			return nil
		}
		var names []string
		for _, n := range nodes {
			names = append(names, n.String())
		}
		fmt.Fprintf(c.Stdout, "Nodes '%s' are still decommissioning.\n", strings.Join(names, ","))
	}
	fmt.Fprintf(c.Stdout, "Graceful decommissioning not completed in %d seconds, issuing forceful decommissioning command.\n", seconds)
	return rm.RefreshNodes(c.ctx, client.DecommissionForced, nil)
}

// updateNodeResource is -updateNodeResource NODE MEMORY VCORES [TIMEOUT], or NODE NAME=VALUE,… [TIMEOUT].
func updateNodeResource(c *call, args []string) error {
	if len(args) < 2 || len(args) > 4 {
		return c.adminMistake("Number of parameters specified for updateNodeResource is wrong.")
	}
	var r client.Resource
	used := 2
	if len(args) >= 3 && strings.Trim(args[1], "0123456789") == "" {
		used = 3
		memory, err1 := strconv.ParseInt(args[1], 10, 32)
		vcores, err2 := strconv.ParseInt(args[2], 10, 32)
		if err := numberError(err1, args[1], err2, args[2]); err != nil {
			return err
		}
		if memory < 0 || vcores < 0 {
			return badArgument("Invalid resource value: (%d,%d) for updateNodeResource.", memory, vcores)
		}
		r = client.Resource{MemoryMB: memory, VCores: vcores}
	} else {
		if !strings.Contains(args[1], "=") {
			return c.adminMistake("Resource Types parameter specified for updateNodeResource is wrong. It should be comma-delimited " +
				"key value pairs. For example, memory-mb=1024Mi,vcores=1,resource1=3Gi,resource2=2")
		}
		var err error
		if r, err = parseResource(args[1]); err != nil {
			return err
		}
	}
	timeout := int64(-1)
	if len(args) > used {
		var err error
		if timeout, err = strconv.ParseInt(args[used], 10, 32); err != nil {
			return badArgument("For input string: %q", args[used])
		}
	}
	id, err := parseNode(args[0])
	if err != nil {
		var java javaError
		errors.As(err, &java)
		return badArgument("%s", java.message)
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	return rm.UpdateNodeResource(c.ctx, id, r, int32(timeout))
}

// numberError names the first of two words that is not a number; nil: both are.
func numberError(err1 error, word1 string, err2 error, word2 string) error {
	switch {
	case err1 != nil:
		return badArgument("For input string: %q", word1)
	case err2 != nil:
		return badArgument("For input string: %q", word2)
	}
	return nil
}

// adminMistake prints a message and the command's usage.
func (c *call) adminMistake(message string) error {
	fmt.Fprintln(c.Stderr, message)
	c.adminUsage(c.args[0])
	return failed
}

// parseResource reads name=value pairs with commas between them. memory-mb and vcores must be there.
func parseResource(s string) (client.Resource, error) {
	var r client.Resource
	for _, pair := range strings.Split(s, ",") {
		parts := strings.Split(pair, "=")
		if len(parts) != 2 {
			return r, badArgument("Invalid resource type value: (%s) for updateNodeResource. It should be key value pairs separated using '=' symbol.", pair)
		}
		name, text := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		digits := strings.TrimLeft(text, "0123456789")
		value, err := strconv.ParseInt(text[:len(text)-len(digits)], 10, 64)
		if err != nil {
			return r, badArgument("Invalid resource value: %s. Unable to extract unit and actual value.", text)
		}
		switch name {
		case "memory-mb":
			if r.MemoryMB, err = mebibytes(value, digits); err != nil {
				return r, err
			}
		case "vcores":
			if digits != "" {
				return r, badArgument("vcores=%s: a plain number is wanted", text)
			}
			r.VCores = value
		default:
			r.Others = append(r.Others, client.Amount{Name: name, Value: value, Units: digits})
		}
	}
	for _, must := range []client.Amount{{Name: "memory-mb", Value: r.MemoryMB}, {Name: "vcores", Value: r.VCores}} {
		if must.Value > math.MaxInt32 {
			return r, badArgument("Value '%d' for resource %s is more than the maximum for an integer.", must.Value, must.Name)
		}
		if must.Value == 0 { // missing, or zero
			return r, badArgument("Invalid value for resource '%s'. Value cannot be 0(zero).", must.Name)
		}
	}
	return r, nil
}

// mebibytes converts an amount of memory with a unit. No unit is mebibytes.
func mebibytes(n int64, unit string) (int64, error) {
	factors := map[string][2]int64{"": {1, 1}, "Mi": {1, 1}, "Gi": {1 << 10, 1}, "Ti": {1 << 20, 1}, "Ki": {1, 1 << 10},
		"M": {1e6, 1 << 20}, "G": {1e9, 1 << 20}, "k": {1e3, 1 << 20}}
	f, ok := factors[unit]
	if !ok {
		return 0, badArgument("memory-mb: unit %q is not known; use Mi, Gi or Ti", unit)
	}
	if n > (1<<62)/f[0] {
		return 0, badArgument("memory-mb=%d%s is too large", n, unit)
	}
	return n * f[0] / f[1], nil
}
