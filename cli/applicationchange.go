package cli

import (
	"fmt"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// applicationKill kills one application after the other, waiting for each. The
// exit code is 0 if any of them was known.
func applicationKill(c *call) error {
	if !c.opts.only("kill", "clusterId") {
		return c.misused()
	}
	if err := c.textOnly(); err != nil {
		return err
	}
	rm, err := c.client()
	if err != nil {
		return err
	}
	known := false
	for _, word := range c.opts.all("kill") {
		err := c.kill(rm, word)
		if client.Is(err, client.ClassApplicationNotFound) {
			continue // compat: the others are tried all the same
		}
		if err != nil {
			return err
		}
		known = true
	}
	if !known {
		return failed
	}
	return nil
}

// kill ends one application unless it has ended, and waits until that is stored.
func (c *call) kill(rm *client.Client, word string) error {
	id, err := parseApplication(word)
	if err != nil {
		return err
	}
	a, err := rm.Application(c.ctx, id)
	if client.Is(err, client.ClassApplicationNotFound) {
		fmt.Fprintf(c.Stdout, "Application with id '%s' doesn't exist in RM.\n", word)
	}
	if err != nil {
		return err
	}
	if c.over(word, a) {
		return nil
	}
	fmt.Fprintf(c.Stdout, "Killing application %s\n", word)
	return rm.KillApplication(c.ctx, id, "")
}

// over says so if an application has ended.
func (c *call) over(word string, a *client.Application) bool {
	switch a.State {
	case yarn.PublicFinished, yarn.PublicFailed, yarn.PublicKilled:
		fmt.Fprintf(c.Stdout, "Application %s has already finished \n", word)
		return true
	}
	return false
}

// moveToQueue is the older spelling of changeQueue.
func moveToQueue(c *call) error {
	if !c.opts.has("queue") {
		return c.misused()
	}
	return c.move(c.opts.first("movetoqueue"), c.opts.first("queue"))
}

func changeQueue(c *call) error {
	if !c.opts.has("appId") {
		return c.misused()
	}
	return c.move(c.opts.first("appId"), c.opts.first("changeQueue"))
}

// move moves an application that has not ended.
func (c *call) move(word, queue string) error {
	rm, id, err := c.target(word)
	if err != nil {
		return err
	}
	a, err := rm.Application(c.ctx, id)
	if err != nil || c.over(word, a) {
		return err
	}
	fmt.Fprintf(c.Stdout, "Moving application %s to queue %s\n", word, queue)
	if err := rm.MoveApplication(c.ctx, id, queue); err != nil {
		return err
	}
	fmt.Fprintln(c.Stdout, "Successfully completed move.")
	return nil
}

// target is the client and the application that a change is about.
func (c *call) target(word string) (*client.Client, yarn.ApplicationID, error) {
	if err := c.textOnly(); err != nil {
		return nil, yarn.ApplicationID{}, err
	}
	id, err := parseApplication(word)
	if err != nil {
		return nil, id, err
	}
	rm, err := c.client()
	return rm, id, err
}

// updatePriority sets an application's priority. Whether the ResourceManager
// took it shows only in its answer.
func updatePriority(c *call) error {
	if !c.opts.has("appId") {
		return c.misused()
	}
	word, priority := c.opts.first("appId"), c.opts.first("updatePriority")
	rm, id, err := c.target(word)
	if err != nil {
		return err
	}
	n, err := parseNumber(priority, 32)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Updating priority of an application %s\n", word)
	now, err := rm.UpdatePriority(c.ctx, id, int32(n))
	if err != nil {
		return err
	}
	if now == int32(n) {
		fmt.Fprintf(c.Stdout, "Successfully updated the application %s with priority '%s'\n", word, priority)
	} else {
		fmt.Fprintf(c.Stdout, "Updated priority of an application  %s to cluster max priority OR keeping old priority as application is in final states\n", word)
	}
	return nil
}

// updateLifetime counts the seconds from this machine's clock, as Hadoop does,
// and prints the time that the queue's limits have left.
func updateLifetime(c *call) error {
	if !c.opts.has("appId") {
		return c.misused()
	}
	seconds, err := parseNumber(c.opts.first("updateLifetime"), 64)
	if err != nil {
		return err
	}
	word := c.opts.first("appId")
	rm, id, err := c.target(word)
	if err != nil {
		return err
	}
	want := c.isoTime(c.Now().UnixMilli() + seconds*1000)
	fmt.Fprintf(c.Stdout, "Updating timeout for given timeoutType: LIFETIME of an application %s\n", word)
	got, err := rm.UpdateLifetime(c.ctx, id, want)
	if err != nil {
		return err
	}
	if got != want {
		fmt.Fprintf(c.Stdout, "Updated lifetime of an application  %s to queue max/default lifetime. New expiry time is %s\n", word, got)
	} else {
		fmt.Fprintf(c.Stdout, "Successfully updated LIFETIME of an application %s. New expiry time is %s\n", word, got)
	}
	return nil
}
