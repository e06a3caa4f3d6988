package cli

import (
	"fmt"
	"net/http"
	"time"

	"github.com/heddle-project/heddle/internal/visible"
)

const debugTitle = "yarn debug record [-start | -stop | -status] | bundle [-out FILE] [-node NODE...]"

var debugOptions = []option{
	{name: "out", arg: "FILE", values: 1, help: "Of bundle: the file to write, a tar.gz; heddle-debug-HOST-TIME.tar.gz in this directory if left out."},
	{name: "node", arg: "NODE", values: many, separate: ',', help: "Of bundle: NodeManagers that are asked, too, as host or host:port."},
	{name: "start", help: "Of record: has all commands since the ResourceManager's start go to a file, until -stop, its end or the file's largest size."},
	{name: "stop", help: "Of record: ends that file."},
	{name: "status", help: "Of record: says what is kept, and writes nothing."},
	{name: "h", long: "help", help: "Prints this text."},
}

// recordPatience bounds the wait for the answer; the file may be large.
const recordPatience = 2 * time.Minute

// recording is how the recording of commands stands, as the ResourceManager says.
type recording struct {
	Commands  int64  `json:"commands"`
	Missing   int64  `json:"missing"`
	File      string `json:"file"`
	All       string `json:"all"`
	AllBytes  int64  `json:"allBytes"`
	AllClosed string `json:"allClosed"`
}

// debug is yarn debug record and yarn debug bundle. Without an option record writes the last commands that the ResourceManager keeps to a file of
// its machine.
func debug(c *call) error {
	if c.opts.has("h") {
		c.usage()
		return nil
	}
	if len(c.opts.words) == 1 && c.opts.words[0] == "bundle" && c.opts.only("out", "node") {
		return debugBundle(c)
	}
	action, given := "save", 0
	for _, name := range []string{"start", "stop", "status"} {
		if c.opts.has(name) {
			action = name
			given++
		}
	}
	if len(c.opts.words) != 1 || c.opts.words[0] != "record" || given > 1 || c.opts.has("out") || c.opts.has("node") {
		return c.invalid(failed)
	}
	host, r, err := c.record(action)
	if err != nil {
		return err
	}
	if c.json {
		return c.writeDocument("recording", document{{"commands", r.Commands}, {"missing", r.Missing}, {"file", r.File}, {"all", r.All},
			{"allBytes", r.AllBytes}, {"allClosed", r.AllClosed}})
	}
	c.showRecording(action, host, r)
	return nil
}

func (c *call) showRecording(action, host string, r *recording) {
	w := c.Stdout
	file := visible.Line(r.File)
	switch action {
	case "save":
		fmt.Fprintf(w, "%s has written %s: %d commands\n", host, file, r.Commands-r.Missing)
	case "start":
		fmt.Fprintf(w, "%s writes all commands to %s\n", host, file)
	case "stop":
		fmt.Fprintf(w, "%s has written %s: %d bytes, all commands\n", host, file, r.AllBytes)
	case "status":
		fmt.Fprintf(w, "%s has applied %d commands since its start and keeps the last %d\n", host, r.Commands, r.Commands-r.Missing)
		if r.All != "" {
			fmt.Fprintf(w, "All of them go to %s: %d bytes so far\n", visible.Line(r.All), r.AllBytes)
		}
	}
	if r.AllClosed != "" {
		fmt.Fprintf(w, "The file of all commands ended early: %s\n", visible.Line(r.AllClosed))
	}
	switch {
	case r.Missing > 0 && action == "save":
		fmt.Fprintf(w, "The first %d commands are missing, so it cannot be played, only listed: yarn sim rerun -list FILE\n"+
			"yarn.resourcemanager.heddle.black-box.record=true keeps all from the start\n", r.Missing)
	case action == "save" || action == "stop":
		fmt.Fprintln(w, "Play it with the same build: yarn sim rerun FILE")
	}
}

// record asks the ResourceManager to do something about recordings.
func (c *call) record(action string) (host string, r *recording, err error) {
	ask := webCall{method: http.MethodGet, path: "/ws/v1/cluster/recording", what: "recordings", patience: recordPatience}
	if action != "status" {
		ask.method, ask.body = http.MethodPut, map[string]string{"action": action}
	}
	var x struct {
		Recording *recording `json:"recording"`
	}
	host, err = c.askWeb(ask, &x)
	if err == nil && x.Recording == nil {
		err = fmt.Errorf("%s answered something else than how its recordings stand", host)
	}
	return host, x.Recording, err
}
