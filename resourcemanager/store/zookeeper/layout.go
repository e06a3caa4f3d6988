package zookeeper

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/yarn"
)

// Names of nodes that only this layout has.
const (
	rootName     = "ZKRMStateRoot"
	lockName     = "RM_ZK_FENCING_LOCK"
	hierarchies  = "HIERARCHIES"
	keysName     = "RMDTMasterKeysRoot"
	tokensName   = "RMDelegationTokensRoot"
	sequenceName = "RMDTSequentialNumber"
	markPrefix   = "start-" // of the last start's mark, below apache.OwnRoot
)

// skeleton are the nodes that are made at every start, parents first.
func skeleton() []string {
	out := []string{apache.Applications, path.Join(apache.Applications, hierarchies)}
	tokens := path.Join(apache.Delegation, tokensName)
	for i := 1; i <= MaxSplit; i++ {
		out = append(out, path.Join(apache.Applications, hierarchies, strconv.Itoa(i)))
	}
	out = append(out, apache.Delegation, path.Join(apache.Delegation, keysName), tokens)
	for i := 1; i <= MaxSplit; i++ {
		out = append(out, path.Join(tokens, strconv.Itoa(i)))
	}
	return append(out, path.Join(apache.Delegation, sequenceName), apache.AMRM, apache.Reservations, apache.ProxyCA, apache.OwnRoot)
}

// tree is which nodes are there: a node's path below the root, and its children's names.
type tree map[string]map[string]bool

func (t tree) has(at string) bool { return t[at] != nil }

func (t tree) add(at string) {
	if t[at] == nil {
		t[at] = map[string]bool{}
	}
	if parent := path.Dir(at); at != "." && t[parent] != nil {
		t[parent][path.Base(at)] = true
	}
}

func (t tree) remove(at string) {
	delete(t, at)
	if parent := t[path.Dir(at)]; parent != nil {
		delete(parent, path.Base(at))
	}
}

// forget removes a node and all below it.
func (t tree) forget(at string) {
	for name := range t[at] {
		t.forget(path.Join(at, name))
	}
	t.remove(at)
}

// split is the path of a name below a node where the last n characters are a node of
// their own.
func split(below, name string, n int) string {
	if n == 0 {
		return path.Join(below, name)
	}
	n = min(n, len(name)-1)
	return path.Join(below, strconv.Itoa(n), name[:len(name)-n], name[len(name)-n:])
}

// place is the path of a record: where it is, else where the split index puts it.
func (k *keeper) place(key state.Key, r state.Record) (string, error) {
	switch key.Table {
	case state.Applications:
		return k.application(key.Name), nil
	case state.Attempts:
		id, err := yarn.ParseAttemptID(key.Name)
		return path.Join(k.application(id.Application.String()), key.Name), err
	case state.AMRMKeys:
		return apache.AMRM, nil
	case state.DelegationKeys:
		return path.Join(apache.Delegation, keysName, apache.KeyPrefix+key.Name), nil
	case state.DelegationTokens:
		return k.token(key.Name)
	case state.DelegationSequences:
		return path.Join(apache.Delegation, sequenceName), nil
	case state.Reservations:
		return k.reservation(key, r)
	}
	return path.Join(apache.OwnRoot, string(key.Table), apache.OwnName(key)), nil
}

func (k *keeper) application(name string) string {
	return k.found(k.options.AppSplit, func(n int) string {
		if n == 0 {
			return path.Join(apache.Applications, name)
		}
		return split(path.Join(apache.Applications, hierarchies), name, n)
	})
}

func (k *keeper) token(number string) (string, error) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return "", err
	}
	below := path.Join(apache.Delegation, tokensName)
	return k.found(k.options.TokenSplit, func(i int) string {
		if i == 0 {
			return path.Join(below, apache.TokenPrefix+number)
		}
		return split(below, fmt.Sprintf("%s%04d", apache.TokenPrefix, n), i)
	}), nil
}

// found is the path at the configured split index, unless there is a node at another one.
func (k *keeper) found(configured int, at func(n int) string) string {
	for i := range MaxSplit + 1 {
		if p := at((configured + i) % (MaxSplit + 1)); k.tree.has(p) {
			return p
		}
	}
	return at(configured)
}

// reservation is below its plan; only a new one says which that is.
func (k *keeper) reservation(key state.Key, r state.Record) (string, error) {
	for plan := range k.tree[apache.Reservations] {
		if at := path.Join(apache.Reservations, plan, key.Name); k.tree.has(at) {
			return at, nil
		}
	}
	plan := r.(state.Reservation).Plan
	if strings.ContainsRune(plan, '/') || plan == "." || plan == ".." {
		return "", fmt.Errorf("%q cannot be the name of a node", plan)
	}
	if plan == "" { // to be removed, and not there
		return path.Join(apache.Reservations, key.Name), nil
	}
	return path.Join(apache.Reservations, plan, key.Name), nil
}

// prunable tells whether a node only holds the ends of names: it goes with the last of them.
func prunable(at string) bool {
	parts := strings.Split(at, "/")
	return len(parts) == 4 && parts[0] == apache.Applications && parts[1] == hierarchies ||
		len(parts) == 4 && parts[0] == apache.Delegation && parts[1] == tokensName
}

// identify is the record that a node holds. holds is false for nodes that hold none. An
// error is the reason to quarantine it.
func identify(at string) (key state.Key, holds bool, err error) {
	parts := strings.Split(at, "/")
	switch {
	case parts[0] == apache.Applications:
		return identifyApplication(parts[1:])
	case parts[0] == apache.Delegation:
		return identifyDelegation(parts[1:])
	case at == apache.AMRM:
		return state.MasterKeys{}.Key(), true, nil
	case parts[0] == apache.Reservations && len(parts) == 3:
		return state.Key{Table: state.Reservations, Name: parts[2]}, true, nil
	case parts[0] == apache.OwnRoot && len(parts) == 3:
		key, holds = apache.OwnKey(parts[1], parts[2])
		return key, holds, nil
	}
	return key, false, nil
}

func identifyApplication(parts []string) (key state.Key, holds bool, err error) {
	if len(parts) > 0 && parts[0] == hierarchies {
		if len(parts) < 4 {
			return key, false, nil
		}
		parts = append([]string{parts[2] + parts[3]}, parts[4:]...)
	}
	switch len(parts) {
	case 1:
		key = state.Key{Table: state.Applications, Name: parts[0]}
		_, err = yarn.ParseApplicationID(key.Name)
		return key, true, err
	case 2:
		key = state.Key{Table: state.Attempts, Name: parts[1]}
		id, err := yarn.ParseAttemptID(key.Name)
		if err == nil && id.Application.String() != parts[0] {
			err = fmt.Errorf("it is below %s", parts[0])
		}
		return key, true, err
	}
	return key, false, nil
}

func identifyDelegation(parts []string) (key state.Key, holds bool, err error) {
	prefix, name := "", ""
	switch {
	case len(parts) == 1 && parts[0] == sequenceName:
		return state.DelegationSequence{}.Key(), true, nil
	case len(parts) == 2 && parts[0] == keysName:
		key.Table, prefix, name = state.DelegationKeys, apache.KeyPrefix, parts[1]
	case len(parts) == 2 && parts[0] == tokensName && len(parts[1]) > 1:
		key.Table, prefix, name = state.DelegationTokens, apache.TokenPrefix, parts[1]
	case len(parts) == 4 && parts[0] == tokensName:
		key.Table, prefix, name = state.DelegationTokens, apache.TokenPrefix, parts[2]+parts[3]
	default:
		return key, false, nil
	}
	key.Name = name
	if number, err := apache.Numbered(name, prefix); err == nil {
		key.Name = number
		return key, true, nil
	} else {
		return key, true, err
	}
}
