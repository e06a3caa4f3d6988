// Package client calls a YARN cluster: the protocols that its daemons offer to
// users, administrators and ApplicationMasters, against Apache Hadoop's daemons and ours
// alike.
//
// A [Client] finds the ResourceManagers in the configuration, retries and fails
// over as Hadoop's clients do, and answers with the types of package yarn and
// small report types. Callers see no wire messages.
//
// A [Client] is for users and administrators. An ApplicationMaster has a
// [Master] for its session with the ResourceManager, and [Nodes] to run
// containers with.
//
// Every call takes a context; cancelling it ends the call and its retries. A
// refusal by the ResourceManager is a [*Error] with Java's exception class; use
// [Is] with the Class constants to tell refusals apart. A ResourceManager that
// cannot be reached is an [*Unreachable], which names the address and the
// property that it came from.
//
// Fields of pointer type are nil where the ResourceManager sent nothing.
package client
