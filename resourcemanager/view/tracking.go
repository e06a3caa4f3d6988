package view

import "github.com/heddle-project/heddle/yarn"

// NotAvailable stands for what a master has not said.
const NotAvailable = "N/A"

// Where the ResourceManager's pages are, as http://host:port, and those of the
// proxy to masters.
type Places struct{ Pages, Proxy string }

// failed tells that the attempt ended without a master's good-bye.
func (t *Attempt) failed() bool {
	return t.State == yarn.AttemptFailed || t.State == yarn.AttemptKilled
}

// OriginalURL is where the application can be watched, as its master said, or
// the application's page once the master has failed.
func (p Places) OriginalURL(a *Application, t *Attempt) string {
	switch {
	case t == nil:
		return NotAvailable
	case t.failed():
		return p.page(a)
	case t.OriginalTrackingURL == "":
		return NotAvailable
	}
	return t.OriginalTrackingURL
}

// TrackingURL is where everybody can watch the application: through the proxy,
// unless its master runs outside of the cluster or has failed. The proxy shows
// the application's page while the master has given no address.
func (p Places) TrackingURL(a *Application, t *Attempt) string {
	if t != nil && (a.Unmanaged || t.failed()) {
		return p.OriginalURL(a, t)
	}
	return p.Proxy + "/proxy/" + a.ID.String() + "/"
}

func (p Places) page(a *Application) string { return p.Pages + "/cluster/app/" + a.ID.String() }
