package access

import (
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// Links makes the addresses that the pages and the web services show.
type Links struct {
	Scheme  string // "http" or "https"
	Address string // host:port of this web server as users reach it
}

func (l Links) base() string { return l.Scheme + "://" + l.Address }

// Page is the application's page.
func (l Links) Page(id yarn.ApplicationID) string { return l.base() + "/cluster/app/" + id.String() }

// Failure is the page about an application whose master does not accept the proxy's
// address.
func (l Links) Failure(id yarn.ApplicationID) string {
	return l.base() + "/cluster/failure/" + id.String()
}

// Proxy is the address of the application's own pages by way of the proxy.
func (l Links) Proxy(id yarn.ApplicationID) string { return l.base() + "/proxy/" + id.String() + "/" }

// Logs is the address of a container's logs on its node; empty if there is no node.
func (l Links) Logs(nodeHTTP string, c yarn.ContainerID, user string) string {
	if nodeHTTP == "" {
		return ""
	}
	return l.Scheme + "://" + nodeHTTP + "/node/containerlogs/" + c.String() + "/" + user
}

// Tracking is the tracking URL of an attempt as reports show it: that of the proxy, the
// one that the master gave if that is unmanaged, or that of the application's page if
// the attempt failed or was killed.
func (l Links) Tracking(app *view.Application, t *view.Attempt) string {
	switch {
	case t.State == yarn.AttemptFailed || t.State == yarn.AttemptKilled:
		return l.Page(app.ID)
	case app.Unmanaged && HasTracking(t):
		return t.OriginalTrackingURL
	}
	return l.Proxy(app.ID)
}

// HasTracking tells whether the master gave a tracking URL.
func HasTracking(t *view.Attempt) bool {
	return t != nil && strings.TrimSpace(t.OriginalTrackingURL) != "" && t.OriginalTrackingURL != "N/A"
}
