package rest

import (
	"net/http"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
)

// past is what the cluster had and used in the last day, for the lines of pages.
func (s *server) past(*http.Request) (*answer.Response, error) {
	list := tree.List{}
	for _, x := range s.Source.Past() {
		list = append(list, tree.New().Add("time", x.At).
			Add("usedMB", x.Used.MemoryMB()).Add("reservedMB", x.Reserved.MemoryMB()).Add("pendingMB", x.Pending.MemoryMB()).Add("totalMB", x.Total.MemoryMB()).
			Add("usedVCores", x.Used.VCoreCount()).Add("pendingVCores", x.Pending.VCoreCount()).Add("totalVCores", x.Total.VCoreCount()).
			Add("containers", x.Containers).Add("appsRunning", x.AppsRunning).Add("appsWaiting", x.AppsWaiting).
			Add("nodesActive", x.NodesActive).Add("nodesUnusable", x.NodesUnusable))
	}
	return answer.Wrapped("metricsPast", tree.New().Add("sample", list)), nil
}
