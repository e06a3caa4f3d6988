package conf

import (
	"strings"
	"testing"
)

// A placeholder of Cloudera Manager is refused in a property that is read, and in no other.
func TestPlaceholders(t *testing.T) {
	for _, c := range []struct {
		name, value string
		rm, nm      bool
	}{
		{rm + "nodes.include-path", "{{CMF_CONF_DIR}}/nodes_allow.txt", true, false},
		{"net.topology.script.file.name", "{{CMF_CONF_DIR}}/topology.py", true, false},
		{nm + "health-checker.script.path", "{{CMF_PACKAGE_DIR}}/health", false, true},
		{"hadoop.security.credential.provider.path", "localjceks://file/{{CMF_CONF_DIR}}/creds.localjceks", false, false},
		{"yarn.nodemanager.admin-env", "A={{PWD}}", false, false},
	} {
		for judge, want := range map[*func(*Properties) Findings]bool{&rmJudge: c.rm, &nmJudge: c.nm} {
			said := false
			for _, f := range (*judge)(overrides(t, c.name, c.value)).Of(Refused) {
				said = said || f.Name == c.name && strings.Contains(f.Reason, c.value[strings.Index(c.value, "{"):strings.Index(c.value, "}")])
			}
			if said != want {
				t.Errorf("%s = %s: refused %v, want %v", c.name, c.value, said, want)
			}
		}
	}
}

var rmJudge, nmJudge = UnsupportedByResourceManager, UnsupportedByNodeManager

// Properties of preemption in the site files have an effect only with the CapacityScheduler, and a misspelt one has none.
func TestPropertiesOfPreemption(t *testing.T) {
	var read []string
	for _, name := range readByPreemption() {
		read = append(read, name, "1")
	}
	if got := UnsupportedByResourceManager(overrides(t, read...)); len(got) != 0 {
		t.Errorf("%v", got)
	}
	const odd = rm + "monitor.capacity.preemption.observe_onl"
	if got := UnsupportedByResourceManager(overrides(t, odd, "true")); len(got) != 1 || got[0].Advice != "did you mean "+rm+"monitor.capacity.preemption.observe_only?" {
		t.Errorf("%v", got)
	}
	if got := UnsupportedByResourceManager(overrides(t, rm+"scheduler.class", schedulerPackage+"fair.FairScheduler", read[0], "true")); len(got) != 1 {
		t.Errorf("with the FairScheduler: %v", got)
	}
}

func TestTimeoutOfDrainsOnEMR(t *testing.T) {
	const old = rm + "decommissioning.timeout"
	for _, c := range []struct {
		set  []string
		said bool
	}{{[]string{old, "60"}, true}, {[]string{old, "60", drainTimeout, "60"}, false}, {[]string{old, "60", drainTimeout, "70"}, true}} {
		if got := UnsupportedByResourceManager(overrides(t, c.set...)).Of(Changed); (len(got) == 1 && got[0].Name == old) != c.said || len(got) > 1 {
			t.Errorf("%v: %v", c.set, got)
		}
	}
}
