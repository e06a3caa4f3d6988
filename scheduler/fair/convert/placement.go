package convert

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/placement"
)

const defaultQueue = "root.default"

// mappingRule is a rule as the CapacityScheduler reads it.
type mappingRule struct {
	Type     string `json:"type"`
	Matches  string `json:"matches"`
	Policy   string `json:"policy"`
	Parent   string `json:"parentQueue,omitempty"`
	Fallback string `json:"fallbackResult"`
	Create   bool   `json:"create"`
	Custom   string `json:"customPlacement,omitempty"`
}

// placement writes the mapping rules and returns them.
func (c *conversion) placement() string {
	if c.options.SkipRules {
		return ""
	}
	from := c.from.Rules
	if from == nil {
		from = allocation.DefaultRules(c.settings.AllowUndeclared, c.settings.UserAsDefaultQueue)
	}
	var whole struct {
		Rules []mappingRule `json:"rules"`
	}
	for i := range from {
		whole.Rules = append(whole.Rules, c.mapping(&from[i]))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(whole) // texts and truth values alone
	text := strings.TrimSpace(b.String())
	c.queues[placement.PropFormat] = placement.FormatJSON
	c.queues[placement.PropOverride] = "true"
	if !c.options.RulesToFile {
		c.queues[placement.PropJSON] = text
	}
	return text
}

func (c *conversion) mapping(r *allocation.PlacementRule) mappingRule {
	m := mappingRule{Type: "user", Matches: "*", Fallback: "skip", Create: r.Create}
	switch r.Kind {
	case allocation.Specified:
		m.Policy = "specified"
	case allocation.Reject:
		m.Policy, m.Create = "reject", false
	case allocation.Default:
		if m.Policy = "defaultQueue"; r.Queue != defaultQueue {
			m.Policy, m.Custom = "custom", r.Queue
		}
	case allocation.PrimaryGroup:
		m.Policy = "primaryGroup"
		c.group(r.Line, &m, "root.<primaryGroup>")
	case allocation.SecondaryGroup:
		m.Policy = "secondaryGroup"
		c.group(r.Line, &m, "root.<secondaryGroup>")
	case allocation.User, allocation.NestedUser:
		c.user(r, &m)
	}
	return m
}

// belowRoot names the parent where queues may be created below it.
func (c *conversion) belowRoot(m *mappingRule) {
	if !c.options.Percentages {
		m.Parent = "root"
	}
}

func (c *conversion) group(line int, m *mappingRule, path string) {
	c.belowRoot(m)
	if c.options.Percentages && m.Create {
		c.mustCreate(line, path)
	}
}

// user is a rule for queues named after users, below root or below what another rule finds.
func (c *conversion) user(r *allocation.PlacementRule, m *mappingRule) {
	m.Policy = "user"
	if r.Parent == nil {
		c.belowRoot(m)
		return
	}
	policy, path := "USER", ""
	switch r.Parent.Kind {
	case allocation.PrimaryGroup:
		m.Policy, policy, path = "primaryGroupUser", "PRIMARY_GROUP_USER", "root.<primaryGroup>"
		c.belowRoot(m)
	case allocation.SecondaryGroup:
		m.Policy, policy, path = "secondaryGroupUser", "SECONDARY_GROUP_USER", "root.<secondaryGroup>"
		c.belowRoot(m)
	case allocation.Default:
		m.Parent, path = r.Parent.Queue, r.Parent.Queue
	default:
		c.fail(r.Line, "Unsupported parent nested rule: %s", r.Parent.Kind)
		return
	}
	if !c.options.Percentages {
		if m.Create = r.Create || r.Parent.Create; r.Create != r.Parent.Create {
			c.judge(CreateDiff, r.Line, "", "Placement rules: the policy "+policy+` originally uses true/false or false/true "create" settings on the `+
				"Fair Scheduler side. This is not supported and create flag will be set to *true* in the generated JSON rule chain", "")
		}
		return
	}
	if m.Create {
		c.mustCreate(r.Line, path)
		if _, static := c.queues[config.Prefix+path+".queues"]; static {
			c.judge(StaticConflict, r.Line, "", "Placement rules: rule maps to path "+path+", but this queue already contains static queue definitions! "+
				"This configuration is invalid and *must* be corrected", "")
		}
	}
	if r.Parent.Create {
		c.judge(ParentDynamicCreate, r.Line, "", "Placement rules: create=true is enabled for parent path "+path+" - this is not supported in "+
			"Capacity Scheduler. The parent must exist as a static queue and cannot be created automatically", "")
	}
}

func (c *conversion) mustCreate(line int, path string) {
	c.judge(QueueDynamicCreate, line, "", "Placement rules: create=true is enabled for path "+path+" - you have to make sure that these queues are "+
		"managed queues and set auto-create-child-queues=true. Other queues cannot statically exist under this path!", "")
}
