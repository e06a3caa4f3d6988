package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/heddle-project/heddle/yarn"
)

// pickMasters are the containers that -am chose.
func (l *endedLogs) pickMasters(web *logsWeb) ([]master, error) {
	addresses, err := l.webAddresses()
	if err != nil {
		return nil, err
	}
	all, err := web.masters(addresses, l.ask.app)
	if err != nil {
		fmt.Fprintf(l.Stderr, "Unable to get AM container informations for the application:%s\n%v\n", l.ask.app, err)
		return nil, l.say("Can not get AMContainers logs for the application:%s with the appOwner:%s", l.ask.app, l.ask.owner)
	}
	if slices.Contains(l.ask.masters, "ALL") {
		fmt.Fprint(l.Stdout, "\nSpecified ALL for -am option. Printed logs for all am containers.\n")
		return all, nil
	}
	var out []master
	for _, word := range l.ask.masters {
		n, _ := strconv.Atoi(word) // checked when it was read
		if n == -1 {
			n = len(all)
		}
		if n > len(all) {
			return nil, l.say("ERROR: Specified AM containerId (%d) exceeds the number of AM containers (%d).", n, len(all))
		}
		out = append(out, all[n-1])
	}
	return out, nil
}

// mastersLogs prints the logs of masters; it succeeds even if there are none.
// compat: in the order of a Java hash table.
func (l *endedLogs) mastersLogs() error {
	picked, err := l.pickMasters(newLogsWeb(l.call, l.ask))
	if err != nil {
		return err
	}
	defer l.whereLogsAre()
	byName := map[string]master{}
	var names []string
	for _, m := range picked {
		found, err := l.narrowTo(m).match()
		if err != nil {
			return err
		}
		if !found {
			l.noMatch(m.Container)
			continue
		}
		byName[m.Container] = m
		names = append(names, m.Container)
	}
	for _, name := range hashOrder(names) {
		found, err := l.narrowTo(byName[name]).print()
		if err != nil {
			return err
		}
		if !found {
			fmt.Fprintf(l.Stderr, "Logs for container %s are not present in this log-file.\n", name)
		}
	}
	return nil
}

// narrowTo changes the request to one master's logs.
func (l *endedLogs) narrowTo(m master) *endedLogs {
	r := l.ask
	r.node = m.Node
	id, err := yarn.ParseContainerID(m.Container)
	if err != nil {
		id = yarn.ContainerID{} // which has no logs
	}
	r.container = &id
	return l
}

// mastersLogs prints the logs of masters from their nodes; it succeeds even if
// there are none.
func (l *runningLogs) mastersLogs() error {
	picked, err := l.pickMasters(l.web)
	if err != nil {
		return err
	}
	var all []liveContainer
	for _, m := range picked {
		if id, err := yarn.ParseContainerID(m.Container); err == nil {
			all = append(all, liveContainer{id: id, node: m.Node, address: m.Address})
		}
	}
	_, err = l.printAll(all)
	return err
}
