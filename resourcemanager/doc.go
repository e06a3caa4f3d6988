// Package resourcemanager is the ResourceManager as a daemon: it reads the
// configuration, puts the parts together, starts them in order and stops them
// in reverse. What the parts are is told by the packages below:
//
//	engine, loop     the model of the cluster and its single writer
//	state, store     what survives
//	rpc, web         the protocols and the HTTP port
//	secrets, launch  keys and tokens; starting masters on nodes
//	view             what readers see
package resourcemanager
