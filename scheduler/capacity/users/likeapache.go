package users

// forgetsUsage tells whether a user who leaves takes along what it still uses.
//
// compat: Apache forgets it with the user. Containers that are kept for a next attempt
// then take a new record of the user below zero when they end.
func (l *Users) forgetsUsage() bool { return l.core.AsApache }
