package tidy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Row is one line of the import table: what the packages in From (and below) may import of this module, and why no
// more. The longest From that matches a package decides. An entry of Allow that ends in "/" means everything below it.
// Deny takes away from Allow.
type Row struct {
	From   string
	Allow  []string
	Deny   []string
	Reason string
}

var (
	vocabulary = []string{"yarn"}
	policies   = []string{"scheduler/capacity", "scheduler/fair", "scheduler/fifo"}
)

// Table is the direction of imports: from the edge inwards, never back. A folder that is not there yet breaks nothing.
var Table = []Row{
	{"yarn", nil, nil, "the vocabulary is what all others share, so it can know none of them"},

	{"scheduler", []string{"yarn", "scheduler/"}, []string{"scheduler/schedtest"}, "the scheduler decides from values alone; whoever asks is none of its business"},
	{"scheduler/core", []string{"yarn", "scheduler/"}, append([]string{"scheduler/lint", "scheduler/schedtest"}, policies...), "lives and books are the same whoever decides; a policy hears of them, and is not known by name"},
	{"scheduler/capacity/tree", []string{"yarn", "scheduler/"}, append([]string{"scheduler/core", "scheduler/lint", "scheduler/schedtest"}, policies...), "which queues there are, and what they are entitled to, does not depend on who serves them"},
	{"scheduler/allocation", []string{"yarn", "scheduler/javanum", "scheduler/spelling"}, nil, "an allocation file becomes values for the FairScheduler and its linter; who schedules by them, and any other policy's queues, are none of its business"},
	{"scheduler/opportunistic", vocabulary, nil, "opportunistic containers are placed by what nodes report, whatever books and policies say"},
	{"scheduler/spelling", nil, nil, "words are compared whatever they name"},
	{"scheduler/queue", []string{"yarn", "scheduler/"}, policies, "the tree is what policies order; a policy it knew would be built into it"},
	{"scheduler/cluster", []string{"yarn", "scheduler/"}, policies, "nodes' books are the same whatever the policy"},
	{"scheduler/demand", []string{"yarn", "scheduler/"}, policies, "what an application wants does not depend on who grants it"},
	{"scheduler/fit", []string{"yarn", "scheduler/"}, policies, "whether an ask fits a node is arithmetic"},
	{"scheduler/placement", []string{"yarn", "scheduler/"}, policies, "rules name queues; they do not order them"},
	{"scheduler/reserve", []string{"yarn", "scheduler/measure", "scheduler/javanum", "scheduler/reserve/"}, nil, "what is promised in time is arithmetic; queues that keep the promises are none of its business"},
	{"scheduler/config", []string{"yarn", "scheduler/"}, policies, "a configuration is a value that policies read"},
	{"scheduler/schedtest", []string{"yarn", "scheduler", "scheduler/", "internal/"}, nil, "scenarios drive the scheduler through its front door"},
	{"scheduler/schedtest/twin", []string{"yarn", "scheduler/config", "scheduler/javanum"}, nil, "the twin must not share what it is compared with"},
	{"scheduler/schedtest/fairtwin", []string{"yarn", "scheduler/config", "scheduler/javanum", "scheduler/allocation"}, nil, "the twin must not share what it is compared with"},

	{"resourcemanager", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/", "wire/", "conf", "conf/", "client", "ui", "internal/"}, nil, "the daemon wires its parts; nothing imports the daemon but the command"},
	{"resourcemanager/engine", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/state", "resourcemanager/view", "resourcemanager/engine/"}, []string{"scheduler/schedtest"}, "pure: lives are decided from commands; stores, wires and files stay outside"},
	{"resourcemanager/state", vocabulary, nil, "durable records outlive every release of the engine and of the stores"},
	{"resourcemanager/store", []string{"yarn", "resourcemanager/state", "resourcemanager/store", "resourcemanager/store/", "wire/", "internal/"}, nil, "a store keeps records; it must not know what they mean"},
	{"resourcemanager/confstore", []string{"yarn", "conf", "internal/"}, nil, "what is kept of a configuration is names and values; what they mean to queues is decided elsewhere"},
	{"resourcemanager/confstore/confstoretest", []string{"resourcemanager/confstore", "internal/"}, nil, "the suite knows a store by its contract"},
	{"resourcemanager/view", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/state"}, nil, "readers get values, not the way to change them"},
	{"resourcemanager/blackbox", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/engine", "resourcemanager/state", "resourcemanager/view", "internal/"}, nil, "commands are kept as they are; who applies them, and who plays them again, is none of its business"},
	{"resourcemanager/loop", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/blackbox", "resourcemanager/engine", "resourcemanager/engine/", "resourcemanager/state", "resourcemanager/store", "resourcemanager/view", "internal/"}, nil, "the one writer takes commands and hands out effects; who sent them stays at the edge"},
	{"resourcemanager/rpc", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/", "wire/", "conf", "conf/", "internal/"}, []string{"resourcemanager/store", "resourcemanager/web"}, "the edge changes things only through the loop"},
	{"resourcemanager/web", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/", "wire/", "conf", "conf/", "ui", "internal/"}, []string{"resourcemanager/store", "resourcemanager/rpc"}, "the edge changes things only through the loop"},
	{"resourcemanager/launch", []string{"yarn", "resourcemanager/", "wire/", "conf", "conf/", "client", "internal/"}, []string{"resourcemanager/rpc", "resourcemanager/web", "resourcemanager/store"}, "launching is carrying out an effect and reporting back"},
	{"resourcemanager/secrets", []string{"yarn", "resourcemanager/state", "wire/", "internal/"}, nil, "keys are used in few places, all of them visible"},
	{"resourcemanager/setup", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/engine", "conf"}, nil, "settings become values here, without I/O, for the daemon and the simulator alike"},
	{"resourcemanager/elect", []string{"wire/pb", "internal/"}, nil, "who leads does not depend on what is led"},

	{"nodemanager", []string{"yarn", "nodemanager/", "wire/", "conf", "conf/", "client", "ui", "internal/"}, nil, "the daemon wires its parts; the two daemons meet on the wire alone"},
	{"nodemanager/engine", []string{"yarn", "nodemanager/state", "nodemanager/engine/"}, nil, "pure: containers' lives are decided from commands"},
	{"nodemanager/state", vocabulary, nil, "durable records outlive every release of the engine and of the store"},
	{"nodemanager/store", []string{"yarn", "nodemanager/state", "internal/"}, nil, "a store keeps records; it must not know what they mean"},
	{"nodemanager/view", vocabulary, nil, "readers get values, not the way to change them"},
	{"nodemanager/loop", []string{"yarn", "nodemanager/engine", "nodemanager/state", "internal/"}, nil, "the one writer takes commands and hands out effects; who sent them stays at the edge"},
	{"nodemanager/run", []string{"yarn", "nodemanager/process", "internal/"}, nil, "a process is run as it is told; why is decided elsewhere"},
	{"nodemanager/cgroup", vocabulary, nil, "limits are set as they are told; why is decided elsewhere"},
	{"nodemanager/process", vocabulary, nil, "what the kernel tells is the same whoever asks"},
	{"nodemanager/localize", []string{"yarn", "wire/", "internal/"}, nil, "a resource is fetched as it is told; who shares it is decided elsewhere"},
	{"nodemanager/localize/java", []string{"yarn", "nodemanager/localize", "nodemanager/process", "wire/", "internal/"}, nil, "others fetch as they are told, as we do"},
	{"nodemanager/shuffle", []string{"yarn", "nodemanager/shuffle", "wire/", "internal/"}, nil, "a service knows jobs and files; containers are none of its business"},

	{"logserver", []string{"yarn", "conf", "client", "internal/"}, nil, "it knows collected logs, and the ResourceManager as any client does"},

	{"minicluster", []string{"conf", "resourcemanager", "nodemanager", "internal/"}, nil, "it starts daemons as main does, and knows nothing of what is in them"},

	{"wire", []string{"yarn", "wire/", "internal/"}, nil, "formats know the vocabulary and nothing that uses them"},
	{"wire/pb", nil, nil, "generated messages know nothing of ours"},
	{"wire/ipc", []string{"wire/"}, []string{"wire/convert"}, "framing carries bytes whatever they mean"},
	{"conf", []string{"yarn", "conf/"}, nil, "configuration is read by others, never the other way round"},
	{"client", []string{"yarn", "wire/", "conf", "client/"}, nil, "others build on the client; it must not drag a daemon in"},
	{"cli", []string{"yarn", "wire/", "conf", "conf/", "client", "client/", "scheduler", "scheduler/", "cli/", "internal/", "resourcemanager/setup"}, nil, "commands talk to a daemon, they do not contain one; what they check is set up as the daemon does"},
	{"deploy", nil, nil, "what makes packages knows a built program, not its parts"},
	{"cmd", []string{"cli", "cli/", "resourcemanager", "nodemanager", "logserver", "minicluster", "sim", "sim/", "conf", "yarn", "internal/"}, nil, "main only chooses: cli, a daemon, or the simulator"},
	{"sim", []string{"yarn", "scheduler", "scheduler/", "resourcemanager/", "nodemanager/", "conf", "sim/", "internal/"}, []string{"resourcemanager/rpc", "resourcemanager/web"}, "the simulator replaces the edge, so it cannot use it"},
	{"ui", nil, nil, "the web interface asks over REST like everybody else"},
	{"internal", []string{"yarn", "internal/"}, nil, "what all may use can know nothing but the vocabulary"},
	{"bench", []string{"bench/"}, nil, "the driver knows nothing of the server but its ports, so that it measures Apache's and ours alike"},
	{"test/attack", []string{"yarn", "client", "conf", "wire/", "internal/", "nodemanager/store", "resourcemanager/store/"}, nil, "attacks come from outside; only files are damaged by the thousand, which no start of a daemon for each allows"},
	{"test", []string{"yarn", "scheduler/", "scheduler", "client", "conf", "wire/", "sim", "sim/", "internal/", "test/"}, nil, "tests from outside use what users have"},
}

// Imports applies a table to every package; test files are free. A package that no row speaks of is a finding too:
// a new folder of the root needs a row.
func Imports(t *Tree, table []Row) []Finding {
	var out []Finding
	for _, p := range t.Packages {
		if len(p.Files) == 0 {
			continue
		}
		row, ok := rowFor(table, p.Dir)
		if !ok {
			out = append(out, Finding{p.Files[0].Name, 1, fmt.Sprintf("package %s has no row in the import table: where does it belong?", p.Dir)})
			continue
		}
		for _, f := range p.Files {
			for _, spec := range f.AST.Imports {
				full, _ := strconv.Unquote(spec.Path.Value)
				dir, ours := strings.CutPrefix(full, t.Module+"/")
				if ours && !row.allows(dir) {
					out = append(out, Finding{f.Name, t.line(spec.Pos()), fmt.Sprintf("%s must not import %s: %s", row.From, dir, row.Reason)})
				}
			}
		}
	}
	return out
}

func rowFor(table []Row, dir string) (Row, bool) {
	for d := dir; d != "."; d = path.Dir(d) {
		if i := slices.IndexFunc(table, func(r Row) bool { return r.From == d }); i >= 0 {
			return table[i], true
		}
	}
	return Row{}, false
}

func (r Row) allows(dir string) bool {
	covers := func(entry string) bool {
		return dir == entry || strings.HasPrefix(dir, strings.TrimSuffix(entry, "/")+"/")
	}
	if slices.ContainsFunc(r.Deny, covers) {
		return false
	}
	return slices.ContainsFunc(r.Allow, func(entry string) bool {
		if below, ok := strings.CutSuffix(entry, "/"); ok {
			return strings.HasPrefix(dir, below+"/")
		}
		return dir == entry
	})
}
