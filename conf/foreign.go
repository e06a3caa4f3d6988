package conf

import "strings"

// schemeOf is the scheme of a URL, in lower case; "" if it has none.
func schemeOf(url string) string {
	scheme, _, ok := strings.Cut(trim(url), ":")
	if !ok || strings.Contains(scheme, "/") {
		return ""
	}
	return strings.ToLower(scheme)
}

// uncollected finds that logs are to be aggregated on a file system that the
// NodeManager cannot write to, such as gs, s3a, abfs or wasb. The finding names the
// property that says so: the directory, or fs.defaultFS for one without a scheme.
func uncollected(p *Properties) (out Findings) {
	if !isTrue(p, trim(p.Get("yarn.log-aggregation-enable"))) {
		return nil
	}
	const directory = nm + "remote-app-log-dir"
	dir, ok := p.Lookup("yarn.log-aggregation.TFile.remote-app-log-dir")
	if !ok || trim(dir.Value) == "" {
		dir, _ = p.Lookup(directory)
	}
	by, scheme := dir, schemeOf(dir.Value)
	if scheme == "" {
		by, _ = p.Lookup("fs.defaultFS")
		scheme = schemeOf(by.Value)
	}
	switch scheme {
	case "", "file", "hdfs":
		return nil
	}
	return Findings{{Changed, "log aggregation", by.Name, by.Value, by.Origin,
		"logs are not collected: " + dir.Name + " lies on a file system (" + scheme + ") that can only be written to with Java, and the logs stay on the nodes for " +
			nm + "log.retain-seconds",
		"set " + dir.Name + " to a directory on hdfs://, or to file:///… on a disk that every node mounts; or ship the files below " + nm + "log-dirs by other means and set " +
			"yarn.log-aggregation-enable to false"}}
}
