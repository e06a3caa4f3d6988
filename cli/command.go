package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
)

// kind says how a subcommand is carried out.
type kind int

const (
	clientCommand kind = iota // here, calling the cluster
	daemonCommand             // a function of Daemons, also with --daemon
	javaCommand               // by Java, with the jars of a Hadoop
	missing                   // Hadoop has it, this program not yet
)

// command is one subcommand.
type command struct {
	name    string
	alias   string
	title   string // in its usage text; the name if empty
	summary string // for the list of subcommands
	group   string // heading in the list of subcommands
	kind    kind
	why     string // of one that is missing: what else there is; "" is Hadoop's own command
	options []option
	fold    string // a flag that is known in any case
	raw     bool   // parses its own words
	bare    bool   // needs no configuration
	plain   bool   // knows neither generic options nor --output, and reads its configuration itself
	program bool   // another program's words follow its options
	hidden  bool   // is not for users
	copies  copies // what it prints of containers' own words
	run     func(*call) error
}

// copies are the streams on which a command prints the raw output of
// containers. The command itself makes everything else it prints there safe for
// a terminal.
type copies struct{ out, err bool }

// call is one run of a subcommand.
type call struct {
	*Env
	ctx     context.Context
	around  *surroundings
	global  global
	command *command
	args    []string // after generic options and --output
	program []string // of another program, after those
	opts    *parsed
	format  string // of --output
	json    bool   // the answer is a document, in any of the formats but text
	props   *conf.Properties
	rm      *client.Client
}

func (c *call) debug() bool { return strings.EqualFold(c.global.logLevel, "DEBUG") }

// usage prints the subcommand's usage to standard output, as Hadoop's tools do
// even for errors.
func (c *call) usage() {
	writeUsage(c.Stdout, c.command.heading(), c.command.options)
}

func (k *command) heading() string {
	if k.title != "" {
		return k.title
	}
	return k.name
}

// misused prints the usage and returns exit code -1.
func (c *call) misused() error {
	c.usage()
	return failed
}

// textOnly refuses --output for a command that only prints messages.
func (c *call) textOnly() error {
	if c.json {
		return fmt.Errorf("--output %s is for lists and reports; this prints only messages", c.format)
	}
	return nil
}

// caller is the user that runs the command.
func (c *call) caller() string {
	if user := c.Getenv("HADOOP_USER_NAME"); user != "" {
		return user
	}
	return c.User
}

// client creates the client on first use.
func (c *call) client() (*client.Client, error) {
	if c.rm != nil {
		return c.rm, nil
	}
	user := c.caller()
	o := client.Options{CallerContext: "CLI", Retrying: func(r client.Retry) { fmt.Fprintln(c.Stderr, "WARN "+r.String()+"; trying again") }}
	if as := c.Getenv("HADOOP_PROXY_USER"); as != "" && as != user {
		o.RealUser, user = user, as
	}
	c.warnOfNobody()
	var err error
	c.rm, err = client.New(c.props, user, o)
	return c.rm, err
}

// warnOfNobody warns that the configuration names no ResourceManager, before the command spends time on trying to reach the
// default address.
func (c *call) warnOfNobody() {
	names := []string{"yarn.resourcemanager.hostname", "yarn.resourcemanager.address", "yarn.resourcemanager.admin.address", "yarn.resourcemanager.ha.enabled"}
	if slices.ContainsFunc(names, func(n string) bool { v, _ := c.props.Lookup(n); return !v.Origin.IsDefault() }) {
		return
	}
	why := "its yarn-site.xml does not set yarn.resourcemanager.hostname"
	dir, err := c.confDir()
	if err != nil {
		return // load has said it
	}
	if !slices.Contains(c.props.Files(), filepath.Join(dir, "yarn-site.xml")) {
		why = "it has no yarn-site.xml"
	}
	fmt.Fprintf(c.Stderr, "WARN the configuration in %s names no ResourceManager (%s): trying %s. --config or HADOOP_CONF_DIR name another directory\n",
		dir, why, c.props.Get("yarn.resourcemanager.address"))
}

// start parses the words after the subcommand, loads the configuration and runs.
func (c *call) start(args []string) int {
	defer c.shown()()
	if c.command.plain {
		c.args = args
		return c.report(c.command.run(c))
	}
	g, rest, err := genericOptions(args)
	if c.command.program {
		rest, c.program = ownWords(c.command.options, rest)
	} else {
		rest = undashed(rest)
	}
	if err == nil {
		c.format, rest, err = outputFormat(rest)
		c.json = c.format != formatText
	}
	if err == nil && !c.command.bare {
		c.props, err = c.load(g)
	}
	if err != nil {
		return c.report(err)
	}
	c.args = rest
	defer func() {
		if c.rm != nil {
			c.rm.Close()
		}
	}()
	if !c.command.raw {
		if err := c.parse(); err != nil {
			return c.report(err)
		}
	}
	return c.report(c.command.run(c))
}

// undashed drops the words "-" and "--".
//
// compat: a first word "-" ends the generic options; "--" ends nothing and is dropped anywhere.
func undashed(words []string) []string {
	if len(words) > 0 && words[0] == "-" {
		words = words[1:]
	}
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "--" })
}

func (c *call) parse() error {
	for i, word := range c.args {
		if c.command.fold != "" && strings.EqualFold(word, "-"+c.command.fold) {
			c.args[i] = "-" + c.command.fold
		}
	}
	var err error
	c.opts, err = parse(c.command.options, c.args)
	if err == nil {
		for _, o := range c.command.options {
			if o.absent != "" && c.opts.has(o.name) {
				return fmt.Errorf("-%s%s", o.name, o.absent)
			}
		}
	}
	var noValue errMissing
	if errors.As(err, &noValue) {
		fmt.Fprintln(c.Stdout, "Missing argument for options")
		return c.misused()
	}
	return err
}

// invalid answers a command line that names no action.
func (c *call) invalid(exit Exit) error {
	fmt.Fprintln(c.Stderr, "Invalid Command Usage : ")
	c.usage()
	if exit == 0 {
		return nil
	}
	return exit
}

func lookUp(name string) *command {
	for _, k := range table() {
		if strings.EqualFold(name, k.name) || k.alias != "" && strings.EqualFold(name, k.alias) {
			return k
		}
	}
	return nil
}
