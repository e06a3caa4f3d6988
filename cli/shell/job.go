package shell

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/token"
)

// Bounds of a job.
const (
	MaxContainers = 10_000
	MaxTries      = 100
	MaxLine       = 100 << 10 // bytes of the launch command; the kernel takes 128 KiB of one argument
	MaxJob        = 512 << 10 // bytes as it travels, of which the ResourceManager stores every one
)

// SecretAlias names the job among the credentials of its master.
const SecretAlias = "heddle.shell.job"

// format is the version of a job's text. The same binary writes and reads it.
const format = 1

// Job is what a master is to do.
type Job struct {
	Format      int
	User        string
	Command     []string // one word is a line for bash; several are a program and its arguments
	Environment []string // name=value
	Containers  int
	MemoryMB    int64
	VCores      int64
	Hosts       []client.Host // if any is given, only there
	Label       string
	Files       map[string]client.File // by name in the work directory
	Tries       int                    // of each container, when it is preempted or lost
	Secret      string                 // of the path of the events
	Staging     string                 // URL of a directory to remove at the end, or ""
	Properties  []conf.Override        // how to reach the cluster
}

// NewSecret is the unguessable part of a path.
func NewSecret() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check says what is wrong with a job before it is submitted.
func (j *Job) Check() error {
	switch {
	case len(j.Command) == 0 || j.Command[0] == "":
		return fmt.Errorf("no command is given")
	case j.Containers < 1 || j.Containers > MaxContainers:
		return fmt.Errorf("%d containers: it can be 1 to %d", j.Containers, MaxContainers)
	case j.Tries < 1 || j.Tries > MaxTries:
		return fmt.Errorf("%d attempts: it can be 1 to %d", j.Tries, MaxTries)
	case j.MemoryMB < 1 || j.VCores < 1:
		return fmt.Errorf("%d MB and %d vcores: a container needs at least 1 of each", j.MemoryMB, j.VCores)
	}
	for _, pair := range j.Environment {
		if name, _, ok := strings.Cut(pair, "="); !ok || !variable.MatchString(name) {
			return fmt.Errorf("variable %q: want NAME=VALUE, the name of letters, digits and underscores", pair)
		}
	}
	for _, word := range slices.Concat(j.Command, j.Environment) {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("%q holds a zero byte, which no program can be given", word)
		}
	}
	if n := len(j.line(0, 1)); n > MaxLine {
		return fmt.Errorf("the command and its variables take %d bytes, quoted, at most %d: put them into a script and send it with -file", n, MaxLine)
	}
	return nil
}

// line is the launch command of one try at one container.
func (j *Job) line(number, try int) string {
	argv := j.Command
	if len(argv) == 1 {
		argv = []string{"/bin/bash", "-c", argv[0]}
	}
	own := []string{"YARN_SHELL_CONTAINER=" + strconv.Itoa(number), "YARN_SHELL_CONTAINERS=" + strconv.Itoa(j.Containers), "YARN_SHELL_TRY=" + strconv.Itoa(try)}
	return Line(append(own, j.Environment...), argv)
}

// request is what the master asks the ResourceManager for.
func (j *Job) request(count int) client.Request {
	return client.Request{Size: client.Resource{MemoryMB: j.MemoryMB, VCores: j.VCores}, Count: int32(count),
		Hosts: j.Hosts, Strict: len(j.Hosts) > 0, Label: j.Label}
}

// Credentials are those of the master's container, but for what the
// ResourceManager adds.
func (j *Job) Credentials() ([]byte, error) {
	j.Format = format
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxJob {
		return nil, fmt.Errorf("the job takes %d bytes, at most %d: put arguments and variables into a script and send it with -file", len(text), MaxJob)
	}
	var c token.Credentials
	c.SetSecret(SecretAlias, text)
	return c.Append(nil), nil
}

// jobOf finds the job among a master's credentials.
func jobOf(c token.Credentials) (*Job, error) {
	text, ok := c.Secret(SecretAlias)
	if !ok {
		return nil, fmt.Errorf("the credentials hold no job: this command is started by yarn shell, not by hand")
	}
	j := &Job{}
	if err := json.Unmarshal(text, j); err != nil {
		return nil, fmt.Errorf("reading the job: %w", err)
	}
	if j.Format != format {
		return nil, fmt.Errorf("reading the job: its format is %d, this binary's %d", j.Format, format)
	}
	return j, j.Check()
}

// needed are the properties that a master takes over from its submitter.
var needed = []string{
	"yarn.resourcemanager.hostname", "yarn.resourcemanager.scheduler.address", "yarn.resourcemanager.ha.enabled",
	"yarn.resourcemanager.ha.rm-ids", "yarn.resourcemanager.connect.", "yarn.client.", "yarn.http.policy", "ipc.client.",
	"fs.defaultFS", "hadoop.security.authentication", "dfs.nameservices", "dfs.ha.namenodes", "dfs.namenode.rpc-address",
	"dfs.client.", "dfs.data.transfer.protection", "dfs.encrypt.data.transfer",
}

// Needed are the properties that a master is to have: nodes need not have the
// submitter's configuration. target is where the submitter itself has reached
// the ResourceManager; its host serves masters too where no other is named.
func Needed(p *conf.Properties, target string) []conf.Override {
	var out []conf.Override
	for _, v := range p.All() {
		if !v.Origin.IsDefault() && slices.ContainsFunc(needed, func(prefix string) bool { return strings.HasPrefix(v.Name, prefix) }) {
			out = append(out, conf.Override{Name: v.Name, Value: v.Value})
		}
	}
	const scheduler = "yarn.resourcemanager.scheduler.address"
	here, ok := conf.ParseAddress(p.Get(scheduler), 8030)
	user, known := conf.ParseAddress(target, 8032)
	if ok && known && here.Host == "0.0.0.0" && p.Get("yarn.resourcemanager.ha.enabled") != "true" {
		here.Host = user.Host
		out = append(out, conf.Override{Name: scheduler, Value: here.String()})
	}
	return out
}

// properties are what the submitter found needed, over Hadoop's defaults.
func (j *Job) properties() (*conf.Properties, error) {
	return conf.Load(conf.Options{Overrides: j.Properties, Read: func(path string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}})
}
