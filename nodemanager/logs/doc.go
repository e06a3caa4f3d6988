// Package logs handles containers' log files: it lists and opens them while
// they exist (Files), uploads them to a file system where log aggregation is on
// (Uploader), and deletes them after a while where it is off (Deleter).
//
// The files lie in <log directory>/<application>/<container>, spread over all log
// directories. Containers write them, so nothing there is trusted: directories
// and files are reached one level at a time and symbolic links are never
// followed, not even within the log directory, where the logs of others lie.
// Only regular files count.
//
// When logs are collected, and when deleted, is decided elsewhere; the format of
// what is collected is that of package aggregated.
package logs
