// Package resourcemanager is the ResourceManager as a daemon: it puts the parts
// together, starts them in order and stops them in reverse.
//
//	Daemon   what listens, and decides whether there is a term (daemon.go, ports.go, active.go)
//	process  configuration, rights, logs: what lasts as long as the process (process.go)
//	term     store, engine, loop, keys, launches: what lasts as long as one leadership (term.go)
//
// A Daemon calls its term, both use the process, and nothing calls back but a
// term that cannot go on. What the parts are is told by the packages below:
//
//	engine, loop     the model of the cluster and its single writer
//	state, store     what survives
//	rpc, web         the protocols and the HTTP port
//	secrets, launch  keys and tokens; starting masters on nodes
//	view             what readers see
package resourcemanager
