// Package daemon is a sample.
package daemon

import "sample/conf"

func Number(r *conf.ResourceManager) int { return r.Web.Number + len(r.Users[0].Name) }
