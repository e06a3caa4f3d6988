// Package allocation reads the FairScheduler's allocation file (fair-scheduler.xml): the queues, what they are
// entitled to, the limits of users and the rules that place submissions. It is pure: bytes and the cluster's
// resource types in, values and findings out. It knows nothing of who schedules by what it reads, opens no file and
// does not say which file it was; who calls it puts the file's name before the findings.
//
// A file is read completely or refused: there is no half of one. Whatever is wrong with it is listed at once.
package allocation
