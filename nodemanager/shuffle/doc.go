// Package shuffle is the auxiliary service mapreduce_shuffle: it hands the
// sorted outputs of map tasks, which their containers left in the local
// directories, to the reducers of the same job over HTTP. Stock reducers fetch
// from it as from Apache's ShuffleHandler.
//
//	GET /mapOutput?job=job_1700000000000_0007&reduce=2&map=attempt_…_0,attempt_…_0
//
// What belongs here: the jobs and their keys (jobs.go), the requests and their
// signatures (query.go, sign.go), the index of a map output and its cache
// (index.go, cache.go), finding and opening files below the local directories
// (files.go), and the answer (serve.go, fetch.go, send.go). Which containers run
// and where their directories are is decided elsewhere; whoever keeps the
// daemon's store keeps the jobs too (Config.Save).
//
// Who may ask: a request is signed with the key of its job, which only the
// job's own tasks have. Everything else in a request is untrusted, and so are
// the files in a user's directories: no symbolic link is followed there.
//
// What one request may take is bounded whatever it asks for: one buffer, a list
// of at most MaxMaps places, and a few open files. Partitions that do not fit
// into the buffer go from the file to the socket by sendfile.
package shuffle
