// Package engine models the life cycles of a node's containers, of their applications and of localized resources. It is pure:
// commands go in, effects come out. Read command.go and effect.go first. Each life cycle has its file: container.go (and
// end.go), application.go, resource.go.
//
// Effects are carried out in order, and a record is made durable before any effect that follows it. So a container whose
// acceptance a caller has seen is known after a restart.
package engine
