package view

import "github.com/heddle-project/heddle/yarn"

// NotAvailable stands for a tracking URL that there is not.
const NotAvailable = "N/A"

// Places are the addresses, as http://host:port, of the ResourceManager's pages and of
// the proxy to masters.
type Places struct{ Pages, Proxy string }

// failed tells whether the attempt has failed or was killed.
func (t *Attempt) failed() bool {
	return t.State == yarn.AttemptFailed || t.State == yarn.AttemptKilled
}

// OriginalURL is the tracking URL as the master gave it, or that of the application's
// page once the attempt has failed.
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

// TrackingURL is the tracking URL for clients: that of the proxy, unless the master is
// unmanaged or the attempt has failed. The proxy shows the application's page if the
// master has given no address.
func (p Places) TrackingURL(a *Application, t *Attempt) string {
	return string(p.AppendTrackingURL(nil, a, t))
}

// AppendTrackingURL appends the same text as TrackingURL makes.
func (p Places) AppendTrackingURL(b []byte, a *Application, t *Attempt) []byte {
	if t != nil && (a.Unmanaged || t.failed()) {
		return append(b, p.OriginalURL(a, t)...)
	}
	b = append(append(b, p.Proxy...), "/proxy/"...)
	return append(a.ID.Append(b), '/')
}

func (p Places) page(a *Application) string { return p.Pages + "/cluster/app/" + a.ID.String() }
