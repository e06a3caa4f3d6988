// Package conf reads Hadoop's XML configuration and turns it into typed,
// immutable settings for our daemons and commands.
//
// It works in three steps; the last two are pure functions of the first one's result:
//
//   - [Load] merges core-default.xml, core-site.xml, yarn-default.xml,
//     yarn-site.xml, hdfs-site.xml and command-line overrides into [Properties].
//     Every value knows the file, line and column it came from.
//   - [ReadResourceManager] and [ReadNodeManager] turn Properties into one value
//     of settings, and report every bad property at once.
//   - [UnsupportedByResourceManager] and [UnsupportedByNodeManager] name what is
//     configured but not supported: what keeps the daemon from starting, what is
//     logged as a warning, and what makes no difference.
//
// Nothing here watches files or keeps state: a daemon that refreshes loads
// again and replaces its value. Java class names that appear in configuration are
// translated to Heddle's own values in this package and nowhere else.
package conf

//go:generate go run ./gendefaults -in gendefaults/hadoop-3.5.0.tsv -out defaults.tsv
