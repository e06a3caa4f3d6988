// Package shell runs one command in many containers: what is behind yarn shell.
//
// It has three parts. The submitter (yarn shell) makes a [Job], puts its files
// where nodes can read them ([Stage]) and submits an application. The
// ApplicationMaster is the same binary ([Run], hidden subcommand shell-master):
// it asks for the containers, starts the command in each, reads their output
// from the nodes' web servers, and asks for new containers in place of those
// that were preempted or lost with their node. The submitter follows it
// ([Follow]) and exits according to the command's exit codes.
//
// # How the job reaches the master
//
// As a secret among the credentials of its container (alias [SecretAlias]), so
// that neither the job nor what it holds shows in command lines, launch scripts
// or the ResourceManager's pages. Nothing but the binary is fetched for it.
//
// # How progress and output reach the submitter
//
// The master keeps one list of events: started, output, lost, ended. It serves
// it over HTTP on a free port, which it registers as its tracking URL, as every
// master does: no port is to be opened, and where the submitter cannot reach
// nodes it goes through the ResourceManager's proxy with the same request:
//
//	GET <tracking URL>/events/<secret>?from=<number>
//
// answers a [Page] of the events from that number on, after at most [HoldTime]
// without any. The secret is 128 random bits of the job; any other path shows no
// more than how many containers have ended. Asking from a number acknowledges
// all events before it, and they are dropped. A page that got lost on its way is
// asked for again.
//
// The master holds at most [MaxHeld] bytes of output that nobody has fetched.
// Above it, it stops reading more, so the containers' log files are the buffer.
// When everything has ended it stays until all events are acknowledged, then
// finishes the application, which is also when nodes may delete the logs. A
// submitter that is not heard of for [Patience] is taken for dead: output is then
// dropped and nothing waits for it.
//
// # Exactness
//
// A node pastes commands unescaped into a script and replaces texts such as
// <LOG_DIR> and {{ in them. [Line] quotes words so that they arrive unchanged.
package shell
