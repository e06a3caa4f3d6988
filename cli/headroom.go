package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/heddle-project/heddle/internal/visible"
)

// room is what a queue, or a user there, could still get in one partition; docs/web.md has the fields.
type room struct {
	Queue      string    `json:"queue"`
	Partition  string    `json:"partition"`
	State      string    `json:"state"`
	Largest    webAmount `json:"largest"`
	Containers int64     `json:"containers"`
	Stop       gate      `json:"stop"`
}

// queueHeadroom is yarn queue -headroom [QUEUE] [-user USER].
func queueHeadroom(c *call) error {
	if len(c.opts.words) > 0 {
		return c.invalid(failed)
	}
	var answer struct {
		Headroom struct {
			Queues int    `json:"queues"`
			Cut    bool   `json:"cut"`
			Room   []room `json:"room"`
		} `json:"headroom"`
	}
	ask := webCall{method: http.MethodGet, path: clusterPath + "headroom", what: "headroom", patience: queuePatience, again: 40, query: url.Values{}} // it is computed for one request at a time
	user, of := c.opts.first("user"), "queues"
	if user != "" {
		ask.query.Set("user", user)
		of = "user " + visible.Line(user)
	}
	if name := c.opts.first("headroom"); name != "" {
		ask.query.Set("queue", name)
	}
	if _, err := c.askWeb(ask, &answer); err != nil {
		return err
	}
	h := answer.Headroom
	if c.json {
		return c.writeDocument("headroom", document{{"user", user}, {"queues", h.Queues}, {"cut", h.Cut}, {"rooms", items(h.Room, roomDocument)}})
	}
	rows := [][]string{{"Queue", "Partition", "State", "Largest Container", "Containers", "What Stops More"}}
	for i := range h.Room {
		x := &h.Room[i]
		partition := "<DEFAULT_PARTITION>"
		if x.Partition != "" {
			partition = visible.Line(x.Partition)
		}
		largest, stop := "none", x.Stop.Text
		if x.Containers > 0 {
			largest = fmt.Sprintf("<memory:%d, vCores:%d>", x.Largest.MemoryMB, x.Largest.VCores)
		}
		if x.Stop.Setting != "" {
			stop += "; " + x.Stop.Setting
		}
		if x.Stop.Origin != "" {
			stop += " (" + x.Stop.Origin + ")"
		}
		rows = append(rows, []string{visible.Line(x.Queue), partition, visible.Line(x.State), largest, strconv.FormatInt(x.Containers, 10), visible.Line(stop)})
	}
	if len(h.Room) == 0 {
		fmt.Fprintf(c.Stdout, "No node has anything for the %d queues: yarn node -list -all says what there is.\n", h.Queues)
		return nil
	}
	fmt.Fprint(c.Stdout, boxed("Headroom of "+of, rows))
	if h.Cut {
		fmt.Fprintf(c.Stdout, "There are %d queues; name one to see those below it.\n", h.Queues)
	}
	return nil
}

func roomDocument(x room) document {
	return document{{"queue", x.Queue}, {"partition", x.Partition}, {"state", x.State}, {"largest", x.Largest}, {"containers", x.Containers},
		{"stop", document{{"code", x.Stop.Code}, {"text", x.Stop.Text}, {"setting", x.Stop.Setting}, {"origin", x.Stop.Origin}}}}
}
