package scen

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/bench/internal/ledger"
	"github.com/heddle-project/heddle/bench/internal/pb"
	"github.com/heddle-project/heddle/bench/internal/proc"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/sim"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// Restart has applications wait in a ResourceManager with a store, kills it with SIGKILL and starts it again, several times. It measures the
// time from exec to the first answered call, which tells of all applications, and memory: then, at rest, and after full lists over RPC and REST. No
// application may be lost.
func Restart(args []string) error {
	o := flags("restart")
	first := o.fs.String("first", "", "command line of the first start, with an empty store; empty: that of the others")
	waiting := o.fs.Int("waiting", 100_000, "applications that wait")
	size := o.fs.Int("context", 1500, "bytes of launch context")
	runs := o.fs.Int("runs", 3, "restarts")
	lists := o.fs.Int("lists", 2, "full lists of each kind, after the last restart")
	web := o.fs.Int("web-port", 8088, "port of the web services")
	settle := o.fs.Float64("settle", 10, "seconds of rest before memory is read")
	limit := o.fs.Float64("limit", 600, "seconds to wait for a start at most")
	log := o.fs.String("log", "", "file for the server's output")
	o.parse(args)
	if o.fs.NArg() == 0 {
		return errors.New("give the command line of a restart after the flags")
	}
	if *o.base > 0 {
		*web = *o.base + 58
	}
	again := o.fs.Args()
	begin := again
	if *first != "" {
		begin = []string{"sh", "-c", "exec " + *first}
	}
	c := sim.New(o.cfg)
	c.Context = yarn.LaunchContext(*size)
	p, err := launch(begin, *log)
	if err != nil {
		return err
	}
	defer func() { halt(p) }()
	if err := until(p, secs(*limit), c.Ask1); err != nil {
		return err
	}
	ids, err := submitWaiting(c, *waiting, false)
	if err != nil {
		return err
	}
	pid := p.Process.Pid
	fig := out{"waiting": len(ids), "context_bytes": len(c.Context), "submitted_rss_mb": round(proc.RSS(pid)), "submitted_peak_mb": round(proc.Peak(pid))}
	var answer, cpu, rss, peak []float64
	for range *runs {
		if err := kill(p.Process); err != nil {
			return err
		}
		_ = p.Wait()
		t := time.Now()
		if p, err = launch(again, *log); err != nil {
			return err
		}
		pid = p.Process.Pid
		if err := until(p, secs(*limit), c.Ask1); err != nil {
			return err
		}
		answer, cpu = append(answer, round(time.Since(t).Seconds())), append(cpu, round(proc.CPU(pid)))
		time.Sleep(secs(*settle))
		rss, peak = append(rss, round(proc.RSS(pid))), append(peak, round(proc.Peak(pid)))
	}
	lost, err := missing(c, ids)
	if err != nil {
		return err
	}
	fig["client_answered_s"], fig["median_client_s"], fig["server_cpu_s"], fig["lost"] = answer, spread(answer)[1], cpu, lost
	fig["rss_settled_mb"], fig["peak_mb"] = rss, peak
	if err := fullLists(c, *web, *lists, len(ids), fig); err != nil {
		return err
	}
	fig["lists_peak_mb"] = round(proc.Peak(pid))
	time.Sleep(secs(*settle))
	fig["lists_rss_settled_mb"] = round(proc.RSS(pid))
	return o.emit("restart", c, fig)
}

func kill(p *os.Process) error {
	if err := syscall.Kill(p.Pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %d: %w", p.Pid, err)
	}
	return nil
}

// fullLists asks for all applications over RPC and over REST, and counts what comes.
func fullLists(c *sim.Cluster, web, times, want int, fig out) error {
	var rpcs, rests []float64
	for range times {
		cl, err := rpc.Dial(c.Addr(c.ClientPort), yarn.ClientProtocol, c.User, nil)
		if err != nil {
			return err
		}
		t := time.Now()
		msg, err := cl.Reply(cl.End(cl.Begin(yarn.GetApplications)))
		if err != nil {
			return err
		}
		n := 0
		for s := pb.In(msg); s.Next(); n++ {
		}
		rpcs = append(rpcs, round(time.Since(t).Seconds()))
		fig["rpc_list_mb"] = round(float64(len(msg)) / (1 << 20))
		cl.Close()
		if n != want {
			c.L.Break(ledger.LostApplication, 1, "a list over RPC has %d applications, not %d", n, want)
		}
		t = time.Now()
		res, err := http.Get(fmt.Sprintf("http://%s/ws/v1/cluster/apps", c.Addr(web)))
		if err != nil {
			return err
		}
		got, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("list over REST: status %d after %d bytes: %w", res.StatusCode, got, err)
		}
		rests = append(rests, round(time.Since(t).Seconds()))
		fig["rest_list_mb"] = round(float64(got) / (1 << 20))
	}
	fig["rpc_list_s"], fig["rest_list_s"] = rpcs, rests
	return nil
}
