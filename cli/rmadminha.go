package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
)

// otherStateTimeout bounds the question to each of the other ResourceManagers
// whether it is active.
const otherStateTimeout = 5 * time.Second

// haResult prints what a command of high availability failed with.
func (c *call) haResult(err error) error {
	var exit Exit
	var argument adminArgument
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.As(err, &argument):
		fmt.Fprintf(c.Stderr, "Illegal argument: %s\n", argument.message)
	default:
		var remote *client.Error
		text := err.Error()
		if errors.As(err, &remote) {
			text = c.shorten(remote.Message)
		}
		fmt.Fprintf(c.Stderr, "Operation failed: %s\n", text)
	}
	return failed
}

// haUsage prints the syntax of one command of high availability.
func (c *call) haUsage() {
	k := findAdmin(c.args[0])
	fmt.Fprintf(c.Stderr, "Usage: rmadmin [%s]\n", k.syntax())
}

// haTarget is the ResourceManager that the only word of the command names.
func (c *call) haTarget(words []string) (*client.Client, client.Target, error) {
	if len(words) != 1 {
		fmt.Fprintf(c.Stderr, "%s: incorrect number of arguments\n", dashless(c.args[0]))
		c.haUsage()
		return nil, client.Target{}, failed
	}
	rm, err := c.client()
	if err != nil {
		return nil, client.Target{}, err
	}
	ids := ""
	for _, t := range rm.AdminAddresses() {
		if t.ID == words[0] {
			return rm, t, nil
		}
		ids += t.ID + " "
	}
	return nil, client.Target{}, badArgument("%s is not a valid serviceId. It should be one of %s", words[0], ids)
}

// haWords parses a command that takes flags and one word.
func (c *call) haWords(args []string, flags ...string) (*parsed, error) {
	var options []option
	for _, f := range flags {
		options = append(options, option{name: f})
	}
	p, err := parse(options, args)
	if err != nil {
		fmt.Fprintf(c.Stderr, "%s: incorrect arguments\n", dashless(c.args[0]))
		c.haUsage()
		return nil, failed
	}
	return p, nil
}

// serviceState prints active, standby or initializing.
func serviceState(c *call, args []string) error {
	rm, t, err := c.haTarget(args)
	if err != nil {
		return err
	}
	s, err := rm.ServiceStatus(c.ctx, t)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Stdout, s.State)
	return nil
}

// allServiceStates prints one line each, whether it answers or not.
func allServiceStates(c *call, _ []string) error {
	rm, err := c.client()
	if err != nil {
		return err
	}
	all := []document{}
	for _, t := range rm.AdminAddresses() {
		s, err := rm.ServiceStatus(c.ctx, t)
		if c.json {
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			all = append(all, document{{"id", t.ID}, {"address", t.Address}, {"state", s.State}, {"error", problem}})
			continue
		}
		if err != nil {
			s.State = "Failed to connect: " + err.Error()
		}
		fmt.Fprintf(c.Stdout, "%-50s %-10s\n", t.Address, s.State)
	}
	if c.json {
		return c.writeDocument("serviceStates", document{{"resourceManagers", all}})
	}
	return nil
}

// checkHealth fails if the ResourceManager calls itself unhealthy.
func checkHealth(c *call, args []string) error {
	rm, t, err := c.haTarget(args)
	if err != nil {
		return err
	}
	err = rm.MonitorHealth(c.ctx, t)
	var remote *client.Error
	if errors.As(err, &remote) && strings.HasSuffix(remote.Class, "HealthCheckFailedException") {
		fmt.Fprintf(c.Stderr, "Health check failed: %s\n", remote.FirstLine())
		return failed
	}
	return err
}

// transitionToActive first makes sure that no other one is active, unless
// --forceactive says not to look.
func transitionToActive(c *call, args []string) error {
	p, err := c.haWords(args, "forceactive", "forcemanual")
	if err != nil {
		return err
	}
	forced, err := c.manual(p)
	if err != nil {
		return err
	}
	rm, t, err := c.haTarget(p.words)
	if err != nil {
		return err
	}
	if !p.has("forceactive") {
		if err := c.noneActive(rm, t, forced); err != nil {
			return err
		}
	}
	if err := c.manualAllowed(t, forced); err != nil {
		return err
	}
	return rm.TransitionToActive(c.ctx, t, forced)
}

// transitionToStandby does not look whether another could take over.
func transitionToStandby(c *call, args []string) error {
	p, err := c.haWords(args, "forcemanual")
	if err != nil {
		return err
	}
	forced, err := c.manual(p)
	if err != nil {
		return err
	}
	rm, t, err := c.haTarget(p.words)
	if err != nil {
		return err
	}
	if err := c.manualAllowed(t, forced); err != nil {
		return err
	}
	return rm.TransitionToStandby(c.ctx, t, forced)
}

// noneActive refuses if another ResourceManager is active or does not answer.
func (c *call) noneActive(rm *client.Client, t client.Target, forced bool) error {
	others := slices.DeleteFunc(rm.AdminAddresses(), func(o client.Target) bool { return o.ID == t.ID })
	for _, o := range others {
		if err := c.manualAllowed(o, forced); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(c.ctx, otherStateTimeout)
		s, err := rm.ServiceStatus(limited, o)
		cancel()
		if err != nil {
			fmt.Fprintf(c.Stderr, "Unexpected error occurred  %v\n", err)
			c.haUsage()
			return failed
		}
		if s.State == "active" {
			fmt.Fprintf(c.Stderr, "transitionToActive: Node %s is already active\n", o.ID)
			c.haUsage()
			return failed
		}
	}
	return nil
}

// manualAllowed refuses to interfere with automatic failover unless forced.
func (c *call) manualAllowed(t client.Target, forced bool) error {
	automatic := !strings.EqualFold(strings.TrimSpace(c.props.Get("yarn.resourcemanager.ha.automatic-failover.enabled")), "false")
	if !automatic || forced {
		return nil
	}
	fmt.Fprintf(c.Stderr, "Automatic failover is enabled for %s at %s; a manual change of state may leave two active ResourceManagers.\n"+
		"Stop the active one instead, or give --forcemanual if you are certain.\n", t.ID, t.Address)
	return failed
}

// manual asks for confirmation of --forcemanual.
func (c *call) manual(p *parsed) (bool, error) {
	if !p.has("forcemanual") {
		return false, nil
	}
	fmt.Fprint(c.Stderr, "--forcemanual overrides automatic failover and can leave two active ResourceManagers.\nContinue? (Y or N) ")
	answer, _ := bufio.NewReader(c.Stdin).ReadString('\n')
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		fmt.Fprintln(c.Stderr, "Aborted")
		return false, failed
	}
	return true, nil
}
