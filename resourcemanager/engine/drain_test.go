package engine

import (
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// orderedNames are names of an order: h1* is the whole host, h1 its node.
func orderedNames(words []string) (names []yarn.NodeID) {
	for _, w := range words {
		host, whole := strings.CutSuffix(w, "*")
		id := nodeID(host)
		if whole {
			id.Port = 0
		}
		names = append(names, id)
	}
	return names
}
