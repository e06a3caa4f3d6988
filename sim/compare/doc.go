// Package compare plays the work of a recorded cluster under two configurations of the scheduler, and tells which applications would have
// started, gone on and ended earlier or later. docs/compare.md says what its model keeps of a recording and what it cannot know.
//
// A Workload is what does not depend on who schedules: nodes that come, go and call, applications as they were submitted, what their masters
// asked for, and how long containers ran. It is made of the commands of a recording (sim/rerun) or of a trace (sim/replay). Play simulates it on
// the engine and a scheduler; time is a number, and nothing is left to chance. Compare sets two outcomes side by side.
package compare
