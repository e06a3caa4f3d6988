package elect

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test.
const patience = 60 * time.Second

// inBubble runs a test in a bubble of testing/synctest: candidates take its time, in which nothing is late.
func inBubble(t *testing.T, test func(t *testing.T, s *zookeepertest.Server, clock func(*Config))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		test(t, zookeepertest.New(), func(c *Config) { c.Clock = func() time.Duration { return time.Since(began) + time.Hour } })
	})
}

// candidate is an Elector and the daemon that it makes active.
type candidate struct {
	*Elector
	t    *testing.T
	mu   sync.Mutex
	log  []string         // what the daemon was told
	fail error            // what Lead returns
	conn zookeeper.Conn   // the last that it opened
	all  []zookeeper.Conn // that it opened
	out  strings.Builder
}

func (c *candidate) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(b)
}

func (c *candidate) logged(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.out.String(), text)
}

func (c *candidate) was(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, what)
}

func (c *candidate) told() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log)
}

// stands has a candidate stand for election.
func stands(t *testing.T, s *zookeepertest.Server, id string, session time.Duration, changes ...func(*Config)) *candidate {
	t.Helper()
	c := &candidate{t: t}
	open := func(o zookeeper.Options) (zookeeper.Conn, error) {
		conn, err := s.Open(o)
		c.mu.Lock()
		c.conn, c.all = conn, append(c.all, conn)
		c.mu.Unlock()
		return conn, err
	}
	cfg := Config{Open: open, Options: zookeeper.Options{Session: session}, ACL: zookeeper.Anyone(), Path: "/yarn-leader-election/c", Cluster: "c", ID: id,
		Lead: func(context.Context) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.fail != nil {
				return c.fail
			}
			c.log = append(c.log, "lead")
			return nil
		},
		StepDown: func(why string) { c.was("step down: " + why) }, Log: slog.New(slog.NewTextHandler(c, nil))}
	for _, change := range changes {
		change(&cfg)
	}
	e, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Elector = e
	t.Cleanup(e.Close)
	return c
}

func (c *candidate) reaches(want State) {
	c.t.Helper()
	until(c.t, want.String(), func() bool { return c.Status().State == want })
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

const (
	testLock  = "/yarn-leader-election/c/ActiveStandbyElectorLock"
	testCrumb = "/yarn-leader-election/c/ActiveBreadCrumb"
)

// The nodes are as Hadoop's: field 1 the cluster, field 2 the id.
func TestNodes(t *testing.T) {
	s := zookeepertest.New()
	one := stands(t, s, "rm1", time.Minute)
	one.reaches(Active)
	want := "\x0a\x01c\x12\x03rm1"
	for _, path := range []string{testLock, testCrumb} {
		if got := s.Dump(path)[path]; string(got) != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if !one.Holds() || one.Status().Elections != 1 {
		t.Errorf("%+v", one.Status())
	}
	two := stands(t, s, "rm2", time.Minute)
	two.reaches(Standby)
	if h := two.Status().Holder; h != "rm1" || two.Holds() {
		t.Errorf("%q", h)
	}
	one.Close() // who leaves in order leaves no breadcrumb
	two.reaches(Active)
	if got := s.Dump(testCrumb)[testCrumb]; string(got) != "\x0a\x01c\x12\x03rm2" {
		t.Errorf("%q", got)
	}
	if two.logged("was active before") {
		t.Error("rm1 left in order, and is taken for lost")
	}
	if got := one.told(); !slices.Equal(got, []string{"lead"}) {
		t.Errorf("%q", got)
	}
}

// Cut off from ZooKeeper it steps down before its session can end, and another one takes over when that has ended.
func TestPartition(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zookeepertest.Server, clock func(*Config)) {
		const session = 2 * time.Second
		one := stands(t, s, "rm1", session, clock)
		one.reaches(Active)
		two := stands(t, s, "rm2", time.Minute, clock)
		two.reaches(Standby)
		s.Cut(one.conn)
		cut := time.Now()
		one.reaches(Away)
		if d := time.Since(cut); d > session {
			t.Errorf("it was active for %s more", d)
		}
		until(t, "a step down", func() bool { return len(one.told()) == 2 })
		if one.Holds() || !strings.Contains(one.told()[1], "ZooKeeper has not answered") {
			t.Errorf("%q", one.told())
		}
		s.ExpireCut(one.conn)
		two.reaches(Active)
		if !two.logged("was active before") {
			t.Error("it is not told that rm1 is lost")
		}
		s.Mend(one.conn)
		one.reaches(Standby)
		if h := one.Status().Holder; h != "rm2" {
			t.Errorf("%q", h)
		}
	})
}

func TestExpiry(t *testing.T) {
	s := zookeepertest.New()
	one := stands(t, s, "rm1", time.Minute)
	one.reaches(Active)
	s.Expire(one.conn)
	until(t, "active again", func() bool {
		got := one.told()
		return len(got) == 3 && strings.Contains(got[1], "expired") && got[2] == "lead"
	})
}

// Who cannot go on lets another one.
func TestYield(t *testing.T) {
	s := zookeepertest.New()
	one := stands(t, s, "rm1", time.Minute)
	one.reaches(Active)
	two := stands(t, s, "rm2", time.Minute)
	two.reaches(Standby)
	one.Yield("the store was taken over")
	two.reaches(Active)
	one.reaches(Standby)
	two.mu.Lock()
	two.fail = errors.New("no queues")
	two.mu.Unlock()
	two.Yield("test")
	one.reaches(Active)
	if one.Status().Elections != 2 {
		t.Errorf("%+v", one.Status())
	}
}

// Lead ends when the lock is lost meanwhile.
func TestLeadIsCancelled(t *testing.T) {
	s := zookeepertest.New()
	began, cancelled := make(chan bool, 2), make(chan bool, 2)
	one := stands(t, s, "rm1", time.Minute, func(c *Config) {
		c.Lead = func(ctx context.Context) error {
			began <- true
			<-ctx.Done()
			cancelled <- true
			return ctx.Err()
		}
	})
	<-began
	s.Expire(one.conn)
	<-cancelled
	<-began
}

// What is in the lock and makes no sense is left alone, and said once.
func TestForeignLock(t *testing.T) {
	for _, data := range []string{"", "\xff", "\x0a\x01d\x12\x03rm1", strings.Repeat("x", 5000)} {
		s := zookeepertest.New()
		s.Put(testLock, []byte(data))
		one := stands(t, s, "rm1", time.Minute)
		until(t, "a message", func() bool { return one.logged("the election: the lock " + testLock) })
		if one.Holds() || len(one.told()) > 0 || string(s.Dump(testLock)[testLock]) != data {
			t.Errorf("%q: %q", data, one.told())
		}
	}
}

// A server that is cut off from the others goes on answering reads: they do not make the lease longer.
func TestServerWithoutQuorum(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zookeepertest.Server, clock func(*Config)) {
		const session = 2 * time.Second
		one := stands(t, s, "rm1", session, clock)
		one.reaches(Active)
		var reads atomic.Int64
		s.Before(func(call, path string) error {
			if call != "read" {
				return zookeeper.ErrConnection
			}
			reads.Add(1)
			return nil
		})
		cut := time.Now()
		one.reaches(Away)
		if d := time.Since(cut); d > session || reads.Load() == 0 {
			t.Errorf("it was active for %s more, and read %d times", d, reads.Load())
		}
		until(t, "a step down", func() bool { return len(one.told()) == 2 })
		s.Before(nil)
		one.reaches(Active)
	})
}

// The lock may have changed between the read and the check: that is no failure of this one, and no sign of life either.
func TestLockChangesDuringLook(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zookeepertest.Server, clock func(*Config)) {
		one := stands(t, s, "rm1", 600*time.Millisecond, clock)
		one.reaches(Active)
		var once sync.Once
		changed := make(chan bool)
		s.Before(func(call, path string) error {
			if call == "multi" {
				once.Do(func() {
					s.Put(testLock, one.info)
					close(changed)
				})
			}
			return nil
		})
		<-changed
		until(t, "two more checks", func() bool { return s.Watches(testLock) == 1 && one.Holds() })
		if got := one.told(); !slices.Equal(got, []string{"lead"}) {
			t.Errorf("%q", got)
		}
	})
}

// While the lock makes no sense it is looked at again and again, with one watch.
func TestForeignLockIsWatchedOnce(t *testing.T) {
	s := zookeepertest.New()
	s.Put(testLock, []byte("?"))
	var reads atomic.Int64
	s.Before(func(call, path string) error {
		if path == testLock {
			reads.Add(1)
		}
		return nil
	})
	stands(t, s, "rm1", time.Minute)
	until(t, "a third look", func() bool { return reads.Load() >= 3 })
	if n := s.Watches(testLock); n != 1 {
		t.Errorf("%d watches", n)
	}
}

// Whoever cannot even step down, because its store hangs, keeps the lock from nobody.
func TestHangingStepDown(t *testing.T) {
	s := zookeepertest.New()
	hanging := make(chan bool)
	one := stands(t, s, "rm1", time.Second, func(c *Config) { c.StepDown = func(string) { <-hanging } })
	t.Cleanup(func() { close(hanging) }) // before it is closed
	one.reaches(Active)
	two := stands(t, s, "rm2", time.Minute)
	two.reaches(Standby)
	one.Yield("test")
	two.reaches(Active)
	if one.Holds() || !one.logged("though this ResourceManager has not become a standby yet") {
		t.Error("two are active")
	}
}

// A connection whose turn to be released has not come is closed with the elector, and the lock is free.
func TestCloseReleasesWhatWaits(t *testing.T) {
	const several = 8
	var work sync.WaitGroup
	defer work.Wait()
	for range several {
		s := zookeepertest.New()
		stepping, stepped := make(chan bool, 1), make(chan bool)
		one := stands(t, s, "rm1", time.Minute, func(c *Config) {
			c.StepDown = func(string) {
				stepping <- true
				<-stepped
			}
		})
		one.reaches(Active)
		one.Yield("test")
		<-stepping
		work.Go(func() {
			one.reaches(Away) // it does not stand while it hangs in its last term
			closed := make(chan bool)
			go func() {
				one.Close()
				close(closed)
			}()
			<-one.ctx.Done()
			close(stepped)
			<-closed
			one.mu.Lock()
			defer one.mu.Unlock()
			for i, conn := range one.all {
				if err := conn.Sync(t.Context(), "/"); !errors.Is(err, zookeeper.ErrClosed) {
					t.Errorf("connection %d of %d: %v", i, len(one.all), err)
				}
			}
			for _, path := range []string{testLock, testCrumb} {
				if data, there := s.Dump(path)[path]; there {
					t.Errorf("%s is there: %q", path, data)
				}
			}
		})
	}
}

// An absence of ZooKeeper is told after ten seconds and then every minute, and so is its end, if it was told.
func TestAbsence(t *testing.T) {
	var told []time.Duration
	ends := 0
	a := absenceFrom(100 * time.Second)
	for at := 101; at < 400; at++ {
		connected := at == 105 || at == 300 || at > 350
		switch away, says := a.step(time.Duration(at)*time.Second, connected); {
		case says && connected:
			ends++
		case says:
			told = append(told, away)
		}
	}
	want := []time.Duration{10 * time.Second, 70 * time.Second, 130 * time.Second, 190 * time.Second, 10 * time.Second}
	if !slices.Equal(told, want) || ends != 2 {
		t.Errorf("told %v, %d ends", told, ends)
	}
}

// After the machine has slept an absence is told once, and again a minute later.
func TestAbsenceOverSleep(t *testing.T) {
	a := absenceFrom(0)
	told := 0
	for at := 30 * time.Minute; at < 32*time.Minute; at += time.Second {
		if _, says := a.step(at, false); says {
			told++
		}
	}
	if told != 2 {
		t.Errorf("told %d times in two minutes", told)
	}
}

// Without a connection an active one says that it is still active, and a standby that it cannot be elected.
func TestAbsenceOfTheActive(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zookeepertest.Server, clock func(*Config)) {
		one := stands(t, s, "rm1", time.Minute, clock)
		one.reaches(Active)
		s.Cut(one.conn)
		time.Sleep(30 * time.Second)
		if !one.Holds() || !one.logged("no connection to ZooKeeper: this ResourceManager is active, and becomes a standby") || one.logged("cannot be elected") {
			t.Error(one.out.String())
		}
		time.Sleep(time.Minute)
		if one.Holds() || !one.logged("no connection to ZooKeeper: this ResourceManager cannot be elected") {
			t.Error(one.out.String())
		}
		one.Close()
	})
}
