package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// kills kills the ResourceManager -9 at random moments while users submit and kill applications, starts it again on what it has
// stored, and asks for everything that was acknowledged.
func kills(a *arena) {
	rounds, users := pick(a, 12, 3), 8
	rm := a.resourceManager(properties("yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.max-completed-applications", "1000000",
		"yarn.client.failover-sleep-base-ms", "50", "ipc.client.connect.max.retries", "0"))
	var (
		mu        sync.Mutex
		submitted []yarn.ApplicationID
		killed    = map[yarn.ApplicationID]bool{}
	)
	for range rounds {
		ctx, end := context.WithCancel(a.ctx)
		var work sync.WaitGroup
		for i := range users {
			work.Go(func() {
				c := rm.client(fmt.Sprintf("user%d", i))
				defer c.Close()
				for n := 0; ctx.Err() == nil; n++ {
					id, err := submitUnmanaged(ctx, c)
					if err != nil {
						return // the daemon has gone
					}
					mu.Lock()
					submitted = append(submitted, id)
					mu.Unlock()
					if n%4 == 0 && c.KillApplication(ctx, id, "") == nil {
						mu.Lock()
						killed[id] = true
						mu.Unlock()
					}
				}
			})
		}
		time.Sleep(time.Duration(300+a.random.IntN(1200)) * time.Millisecond)
		rm.kill()
		end()
		work.Wait()
		rm.start()
	}
	state := applications(a, rm)
	lost, alive := 0, 0
	var example string
	for _, id := range submitted {
		if _, known := state[id]; !known {
			lost++
		}
		if killed[id] && state[id] != yarn.PublicKilled {
			alive++
			example = fmt.Sprintf(", such as %v: %v", id, state[id])
		}
	}
	a.figure("kills -9", float64(rounds), "")
	a.figure("applications acknowledged", float64(len(submitted)), "")
	a.figure("ends acknowledged", float64(len(killed)), "")
	a.check(lost == 0 && len(submitted) > 0, "no acknowledged application is lost", "%d of %d", lost, len(submitted))
	a.check(alive == 0 && len(killed) > 0, "no acknowledged end is lost", "%d of %d%s", alive, len(killed), example)
}

// submitUnmanaged submits an application whose master runs nowhere, so that it needs no node.
func submitUnmanaged(ctx context.Context, c *client.Client) (yarn.ApplicationID, error) {
	id, _, err := c.NewApplication(ctx)
	if err != nil {
		return id, err
	}
	return id, c.Submit(ctx, client.Submission{ID: id, Name: "attack", Queue: "default", Unmanaged: true, Master: client.Resource{MemoryMB: 128, VCores: 1}})
}
