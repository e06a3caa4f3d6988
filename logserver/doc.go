// Package logserver is the server for collected logs, yarn logserver: what the
// JobHistoryServer of MapReduce has for them, at the same addresses. Pages below
// /jobhistory/logs are where yarn.log.server.url leads people, web services below
// /ws/v1/history where yarn.log.server.web-service.url leads programs. It reads the
// file system for each request and keeps nothing.
//
// It also deletes what is older than yarn.log-aggregation.retain-seconds.
//
// Users write the directories that it reads: names, sizes and contents are bounded
// and trusted no further than their own files.
package logserver
