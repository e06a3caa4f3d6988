package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/release"
)

var manOptions = []option{
	{name: "out", arg: "DIR", values: 1, help: "Writes the pages of all subcommands below this directory, in place of printing one."},
	{name: "help", help: "Prints this text."},
}

// manual is yarn man: pages for man(1), made from the table of commands.
func manual(c *call) error {
	if c.opts.has("help") {
		c.usage()
		return nil
	}
	if err := c.textOnly(); err != nil {
		return err
	}
	if dir := c.opts.first("out"); dir != "" {
		return writeManuals(dir)
	}
	switch len(c.opts.words) {
	case 0:
		fmt.Fprint(c.Stdout, overview())
		return nil
	case 1:
		if k := lookUp(c.opts.words[0]); k != nil && !k.hidden && k.kind != missing {
			fmt.Fprint(c.Stdout, k.page())
			return nil
		}
	}
	return c.refuse("%s: no such subcommand", strings.Join(c.opts.words, " "))
}

// documented are the commands that have a page.
func documented() []*command {
	all := slices.DeleteFunc(table(), func(k *command) bool { return k.hidden || k.kind == missing })
	slices.SortFunc(all, func(a, b *command) int { return strings.Compare(a.name, b.name) })
	return all
}

func writeManuals(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pages are for everybody
		return err
	}
	write := func(name, text string) error {
		return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) //nolint:gosec // pages are for everybody
	}
	if err := write("yarn.1", overview()); err != nil {
		return err
	}
	for _, k := range documented() {
		if err := write("yarn-"+k.name+".1", k.page()); err != nil {
			return err
		}
	}
	return nil
}

// roff escapes a text: backslashes, minus signs, commas, behind which a line may break, and what would be a request at the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, ",", `,\:`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

func manHead(b *strings.Builder, name, summary string) {
	fmt.Fprintf(b, ".TH %s 1 \"\" \"Heddle %s\" \"YARN\"\n.ad l\n.nh\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(name)), release.Version, roff(name), roff(summary))
}

// overview is yarn(1).
func overview() string {
	var b strings.Builder
	manHead(&b, "yarn", "ResourceManager, NodeManager and commands of a YARN cluster")
	b.WriteString(".SH SYNOPSIS\n.B yarn\n[\\fIOPTIONS\\fR] \\fISUBCOMMAND\\fR [\\fIARGUMENTS\\fR]\n.SH OPTIONS\n")
	for _, o := range globalWords {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(o.word), roff(o.what))
	}
	b.WriteString(".SH SUBCOMMANDS\n")
	for _, group := range []string{groupAdmin, groupClient, groupDaemon} {
		fmt.Fprintf(&b, ".SS %s\n", roff(strings.TrimSuffix(group, ":")))
		for _, k := range documented() {
			if k.group == group {
				fmt.Fprintf(&b, ".TP\n.BR yarn\\-%s (1)\n%s\n", roff(k.name), roff(k.summary))
			}
		}
	}
	b.WriteString(`.SH ENVIRONMENT
.TP
.B HADOOP_CONF_DIR
The directory of the configuration, unless \-\-config names one.
.TP
.B HADOOP_HOME
The installation; without it, the directory above the one of this program.
.TP
.B HADOOP_USER_NAME
Who asks, in place of the user of the process.
.SH EXIT STATUS
0, or 255 for a refused command line and most failures, as with Hadoop; 1 for others; 130 if it was interrupted.
.SH FILES
.I yarn\-site.xml, core\-site.xml, capacity\-scheduler.xml, hadoop\-env.sh, yarn\-env.sh
in the directory of the configuration.
`)
	return b.String()
}

// page is the page of a subcommand.
func (k *command) page() string {
	var b strings.Builder
	manHead(&b, "yarn-"+k.name, k.summary)
	title := k.title
	if title == "" {
		title = k.name
	}
	title = strings.TrimPrefix(title, "yarn ")
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B yarn\n%s\n.SH DESCRIPTION\n%s.\n", roff(title), roff(strings.ToUpper(k.summary[:1])+k.summary[1:]))
	if k.alias != "" {
		fmt.Fprintf(&b, ".PP\n.B yarn %s\nis the same.\n", roff(k.alias))
	}
	options := present(k.options)
	slices.SortStableFunc(options, func(a, b option) int { return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
	if len(options) > 0 {
		b.WriteString(".SH OPTIONS\n")
	}
	for i := range options {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(options[i].syntax())), roff(options[i].help))
	}
	if k.name == "rmadmin" {
		b.WriteString(".SH COMMANDS\n")
		for _, a := range adminCommands() {
			if !a.absent {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.Join(strings.Fields(a.syntax()), " ")), roff(a.help))
			}
		}
	}
	if k.kind == clientCommand && !k.plain && !k.bare {
		b.WriteString(".SH FORMATS\nLists and reports take \\fB\\-\\-output\\fR json, yaml or wide in place of Hadoop's layout. " +
			"JSON and YAML have the same fields, wide is a table of them.\n")
	}
	b.WriteString(".SH SEE ALSO\n.BR yarn (1)\n")
	return b.String()
}
