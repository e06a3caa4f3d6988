// Package filesystem is one interface to several file systems, chosen by the scheme of a URL: file: (this machine's), http:
// and https: (read only), hdfs: (simple authentication). Localization reads through it, log aggregation writes through it;
// they decide what is fetched, checked or written.
//
// Systems holds the configuration. Connect opens one connection to one file system on behalf of one user, which ends
// with its context or at Close, together with every file opened from it. A connection serves one goroutine at a time.
//
// Errors are *fs.PathError with the whole URL, and wrap fs.ErrNotExist, fs.ErrExist and fs.ErrPermission where these
// apply. What a remote end may make us wait for or hold is bounded by Limits; how many bytes of a file are wanted is
// for the reader to bound.
package filesystem
