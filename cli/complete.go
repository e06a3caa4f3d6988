package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of what is asked and told for one word.
const (
	completePatience = 2 * time.Second
	maxCandidates    = 500
	maxCompleteApps  = 10 // whose containers are listed
)

// candidate is a way on.
type candidate struct{ word, what string }

// complete prints the ways on, one a line: a word, a tab and what it is. The words of the line behind "yarn" follow "--"; the last is the one
// at hand. A command that it cannot complete has none: nothing here is an error.
func complete(c *call) error {
	if len(c.args) < 2 || c.args[0] != "--" {
		return nil
	}
	words := c.args[1:]
	if dir, rest, ok := cutConfig(words); ok && c.global.config == "" {
		again := *c.around.outer
		again.Run(c.ctx, append([]string{"--config", dir, hiddenComplete, "--"}, rest...))
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, completePatience)
	defer cancel()
	quiet := *c
	env := *c.Env
	env.Stderr = io.Discard
	quiet.Env, quiet.ctx = &env, ctx
	defer func() {
		if quiet.rm != nil {
			quiet.rm.Close()
		}
	}()
	last := words[len(words)-1]
	head := ""
	if i := strings.LastIndexAny(last, ",="); i >= 0 && !strings.HasPrefix(last, "-D") { // of a list, or behind -option=
		head = last[:i+1]
	}
	found := quiet.candidates(words, last[len(head):])
	slices.SortStableFunc(found, func(a, b candidate) int { return strings.Compare(a.word, b.word) })
	for i, k := range slices.CompactFunc(found, func(a, b candidate) bool { return a.word == b.word }) {
		if i == maxCandidates {
			break
		}
		fmt.Fprintf(c.Stdout, "%s\t%s\n", visible.Line(head+k.word), visible.Line(k.what))
		if k == fileNames {
			break
		}
	}
	return nil
}

// cutConfig takes --config DIR out of the options before the subcommand.
func cutConfig(words []string) (dir string, rest []string, ok bool) {
	for i := 0; i+2 < len(words) && strings.HasPrefix(words[i], "-"); i++ {
		if strings.TrimLeft(words[i], "-") == "config" {
			return words[i+1], slices.Concat(words[:i], words[i+2:]), true
		}
		if takesWord(words[i]) {
			i++
		}
	}
	return "", nil, false
}

// globalWords are the options before the subcommand; those with a value have something behind the tab of globalValues.
var globalWords = []candidate{{"--config", "directory of the configuration"}, {"--daemon", "start, stop or ask about a daemon"}, {"--debug", "as --loglevel DEBUG"},
	{"--help", "the list of subcommands"}, {"--hostnames", "hosts of --workers"}, {"--hosts", "file of hosts of --workers"}, {"--loglevel", "log level"}, {"--workers", "on all hosts, by ssh"}}

func takesWord(option string) bool {
	return slices.Contains([]string{"config", "daemon", "hostnames", "hosts", "loglevel"}, strings.TrimLeft(option, "-"))
}

// fileNames stands for the names of files, which the shell completes.
var fileNames = candidate{word: ":files"}

// candidates are the ways on from words, of which the last is at hand; prefix is how the candidate must begin.
func (c *call) candidates(words []string, prefix string) []candidate {
	for len(words) > 1 && strings.HasPrefix(words[0], "-") {
		n := 1
		if takesWord(words[0]) {
			n = 2
		}
		if len(words) == n { // its value is at hand
			return c.matching(globalValue(words[0]), prefix)
		}
		words = words[n:]
	}
	if len(words) == 1 {
		if strings.HasPrefix(words[0], "-") {
			return c.matching(globalWords, prefix)
		}
		return c.matching(subcommands(), prefix)
	}
	k := lookUp(words[0])
	if k == nil {
		return nil
	}
	return c.matching(c.after(k, words[1:len(words)-1], words[len(words)-1]), prefix)
}

func globalValue(option string) []candidate {
	switch strings.TrimLeft(option, "-") {
	case "daemon":
		return plainWords("start", "stop", "status")
	case "loglevel":
		return plainWords("DEBUG", "INFO", "WARN", "ERROR")
	case "config", "hosts":
		return []candidate{fileNames}
	}
	return nil
}

func plainWords(words ...string) []candidate {
	var out []candidate
	for _, w := range words {
		out = append(out, candidate{word: w})
	}
	return out
}

func (c *call) matching(all []candidate, prefix string) []candidate {
	return slices.DeleteFunc(slices.Clone(all), func(k candidate) bool {
		return k != fileNames && !strings.HasPrefix(k.word, prefix) && !strings.HasPrefix("-"+k.word, prefix)
	})
}

func subcommands() []candidate {
	var out []candidate
	for _, k := range table() {
		if k.hidden || k.kind == missing {
			continue
		}
		out = append(out, candidate{k.name, k.summary})
		if k.alias != "" {
			out = append(out, candidate{k.alias, k.summary})
		}
	}
	return out
}

// after are the ways on behind a subcommand and before; word is at hand.
func (c *call) after(k *command, before []string, word string) []candidate {
	options := present(k.options)
	if i := strings.IndexByte(word, '='); i > 0 { // -option=value
		if o := find(options, word[:i]); o != nil {
			return c.values(k, o)
		}
	}
	if n := len(before); n > 0 && strings.TrimLeft(before[n-1], "-") == "output" {
		return []candidate{{"text", "as Hadoop prints it"}, {"json", "for programs"}, {"yaml", "for programs and people"}, {"wide", "a table with all fields"}}
	}
	var open *option // the last option, if it takes one more word
	taken := 0
	for _, w := range before {
		if o := find(options, w); strings.HasPrefix(w, "-") && o != nil {
			open, taken = o, 0
		} else {
			taken++
		}
	}
	if open != nil && open.values != many && taken >= open.values {
		open = nil
	}
	var out []candidate
	if open != nil && !strings.HasPrefix(word, "-") {
		out = c.values(k, open)
		if !open.optional && open.values != many || len(out) > 0 {
			return out
		}
	}
	if len(before) == 0 {
		out = append(out, firstWords[k.name]...)
	}
	if k.name == "rmadmin" {
		return append(out, c.adminWords(before)...)
	}
	if strings.HasPrefix(word, "-") || len(out) == 0 {
		for i := range options {
			o := &options[i]
			out = append(out, candidate{"-" + o.name, o.help})
		}
		if k.kind == clientCommand && !k.plain {
			out = append(out, candidate{"--output", "the format: text, json, yaml or wide"})
		}
	}
	return out
}

// firstWords are those of commands that begin with one.
var firstWords = map[string][]candidate{
	"completion": plainWords("bash", "fish", "zsh"),
	"debug":      {{"bundle", "what is needed to look into a problem, in one file"}, {"record", "what the ResourceManager did, to be played again"}},
	"sim":        {{"compare", "two configurations"}, {"replay", "recorded decisions"}, {"rerun", "a recording of a ResourceManager"}},
}

func (c *call) adminWords(before []string) []candidate {
	var out []candidate
	if len(before) == 0 {
		for _, k := range adminCommands() {
			if !k.absent {
				out = append(out, candidate{k.name, k.help})
			}
		}
		return append(out, candidate{"-help", "Prints this text."})
	}
	switch before[0] {
	case "-updateNodeResource", "-replaceLabelsOnNode":
		if len(before) == 1 {
			out = c.live("node")
		}
	case "-refreshNodes":
		out = plainWords("-g", "-graceful", "-client", "-server")
	case "-removeFromClusterNodeLabels":
		out = c.live("label")
	case "-getServiceState", "-checkHealth", "-transitionToActive", "-transitionToStandby":
		out = c.live("manager")
	}
	return out
}

// kinds says by the placeholder of an option's value what it is.
var kinds = map[string]string{
	"Application ID": "application", "Application Name or ID": "application", "appId": "application", "APPLICATION": "application",
	"Application Attempt ID": "attempt", "Application Name or Attempt ID": "attempt", "Container ID": "container", "container ID [signal command]": "container",
	"NodeId": "node", "Node Address": "node", "NODE": "node", "Queue Name": "queue", "Parent Queue Name": "queue", "Queue Path": "queue", "Types": "type",
	"Tags": "tag", "Application Owner": "user", "FILE": "file", "FILE|DIR": "file", "DIR": "file", "Local Directory": "file", "File Name": "file",
}

// values are what an option may be followed by.
func (c *call) values(k *command, o *option) []candidate {
	kind := kinds[o.arg]
	switch {
	case o.name == "drain" || o.name == "undrain" || o.name == "drain-status":
		kind = "node"
	case o.name == "appStates":
		var out []candidate
		for _, s := range yarn.PublicStates() {
			out = append(out, candidate{word: s.String()})
		}
		return append(out, candidate{word: "ALL"})
	case k.name == "node" && o.name == "states":
		var out []candidate
		for _, s := range yarn.NodeStates() {
			out = append(out, candidate{word: s.String()})
		}
		return out
	case k.name == "top" && (o.name == "queues" || o.name == "users" || o.name == "types"):
		kind = strings.TrimSuffix(o.name, "s")
	case k.name == "conf" && o.name == "for":
		return plainWords("resourcemanager", "nodemanager")
	}
	switch kind {
	case "":
		return nil
	case "file":
		return []candidate{fileNames}
	}
	return c.live(kind)
}

// live asks the cluster; nothing if it does not answer.
func (c *call) live(kind string) []candidate {
	var err error
	if c.props == nil {
		if c.props, err = c.load(genericValues{}); err != nil {
			return nil
		}
	}
	rm, err := c.client()
	if err != nil {
		return nil
	}
	switch kind {
	case "node":
		nodes, _ := rm.Nodes(c.ctx, yarn.NodeStates()...)
		return candidatesOf(nodes, func(n *client.Node) candidate { return candidate{n.ID.String(), n.State.String()} })
	case "queue":
		root, _ := rm.Queue(c.ctx, "root", true, true)
		if root == nil {
			return nil
		}
		return append(candidatesOf(below(root, nil), queueCandidate), queueCandidate(root))
	case "label":
		labels, _ := rm.ClusterLabels(c.ctx)
		return candidatesOf(labels, func(l client.NodeLabel) candidate { return candidate{word: l.Name} })
	case "manager":
		return candidatesOf(rm.AdminAddresses(), func(t client.Target) candidate { return candidate{t.ID, t.Address} })
	}
	return c.ofApplications(rm, kind)
}

func candidatesOf[T any](from []T, f func(T) candidate) []candidate {
	out := make([]candidate, 0, len(from))
	for _, t := range from {
		out = append(out, f(t))
	}
	return out
}

func queueCandidate(q *client.Queue) candidate {
	if q.Path != nil && *q.Path != "" {
		return candidate{*q.Path, q.State}
	}
	return candidate{q.Name, q.State}
}

// ofApplications are ids and words of applications: of those that have not ended, or of the latest if there are none.
func (c *call) ofApplications(rm *client.Client, kind string) []candidate {
	states := []yarn.PublicState{yarn.PublicSubmitted, yarn.PublicAccepted, yarn.PublicRunning}
	apps, err := rm.Applications(c.ctx, client.ApplicationFilter{States: states, Limit: maxCandidates})
	if err == nil && len(apps) == 0 {
		apps, _ = rm.Applications(c.ctx, client.ApplicationFilter{Limit: maxCandidates})
	}
	var out []candidate
	for i, a := range apps {
		what := fmt.Sprintf("%s of %s, %s", a.Name, a.User, a.State)
		switch kind {
		case "application":
			out = append(out, candidate{a.ID.String(), what})
		case "attempt":
			out = append(out, candidate{a.CurrentAttempt.String(), what})
		case "user":
			out = append(out, candidate{word: a.User})
		case "type":
			out = append(out, candidate{word: a.Type})
		case "tag":
			out = append(out, plainWords(a.Tags...)...)
		case "container":
			if i < maxCompleteApps {
				all, _ := rm.Containers(c.ctx, a.CurrentAttempt)
				out = append(out, candidatesOf(all, func(k *client.Container) candidate { return candidate{k.ID.String(), what} })...)
			}
		}
	}
	return out
}
