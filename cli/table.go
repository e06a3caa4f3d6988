package cli

// The headings under which the list of subcommands shows them.
const (
	groupAdmin  = "Admin Commands:"
	groupClient = "Client Commands:"
	groupDaemon = "Daemon Commands:"
)

// table lists every subcommand.
func table() []*command {
	return append([]*command{
		{name: "application", alias: "app", group: groupClient, summary: "list, inspect, kill, move and change applications",
			options: applicationOptions, run: application},
		{name: "applicationattempt", group: groupClient, summary: "list, inspect and fail attempts of an application",
			options: attemptOptions, run: applicationAttempt},
		{name: "container", group: groupClient, summary: "list, inspect and signal containers",
			options: containerOptions, run: container},
		{name: "node", group: groupClient, summary: "list and inspect nodes", options: nodeOptions, fold: "all", run: node},
		{name: "queue", group: groupClient, summary: "list and inspect queues, check their configuration", options: queueOptions, run: queue},
		{name: "conf", title: "yarn conf -lint [DIR] [-for DAEMON] [-strict] [--output json]", group: groupClient, summary: "check the daemons' configuration",
			options: confOptions, run: configuration},
		{name: "cluster", title: "yarn cluster", group: groupClient, summary: "list the cluster's node labels and attributes",
			options: clusterOptions, run: cluster},
		{name: "top", title: "yarn top [OPTIONS]", group: groupClient, summary: "watch applications, queues and nodes on a full screen", options: topOptions, raw: true, run: top},
		{name: "logs", title: logsTitle, group: groupClient, summary: "print containers' logs", options: logsOptions, raw: true, copies: copies{out: true}, run: runLogs},
		{name: "completion", title: "yarn completion bash|zsh|fish", group: groupClient, summary: "print the script that has a shell complete commands, options, ids, queues and nodes", raw: true, bare: true, run: completion},
		{name: hiddenComplete, group: groupClient, summary: "tell a shell how a command line may go on", raw: true, hidden: true, plain: true, run: complete},
		{name: "man", title: "yarn man [-out DIR] [SUBCOMMAND]", group: groupClient, summary: "print the manual page of a subcommand, or write all pages into a directory", options: manOptions, bare: true, run: manual},
		{name: "version", title: "yarn version [--output json|yaml|wide]", group: groupClient, summary: "print the version", raw: true, bare: true, run: version},
		{name: "envvars", title: "yarn envvars", group: groupClient, summary: "print the environment variables that yarn makes of the configuration", raw: true, bare: true, run: envVars},
		{name: "rmadmin", group: groupAdmin, summary: "reload parts of the ResourceManager, change labels and nodes", raw: true, run: rmadmin},
		{name: "schedulerconf", title: schedulerConfTitle, group: groupAdmin, summary: "change the scheduler's configuration, and look at its history", options: schedulerConfOptions, raw: true, run: schedulerConf},
		{name: "daemonlog", title: daemonLogTitle, group: groupAdmin, summary: "get and set log levels of a running daemon", options: daemonLogOptions, raw: true, run: daemonLog},
		{name: "debug", title: debugTitle, group: groupAdmin, summary: "gather what is needed to look into a problem, or have the ResourceManager write what it did", options: debugOptions, run: debug},
		{name: "fs2cs", title: "yarn fs2cs -y FILE [-f FILE] {-o DIR | -p} [OPTIONS]", group: groupAdmin, summary: "convert a FairScheduler configuration",
			options: fs2csOptions, raw: true, plain: true, run: fs2cs},
		{name: "resourcemanager", kind: daemonCommand, group: groupDaemon, title: "yarn resourcemanager [OPTION]", summary: "run the ResourceManager", options: resourceManagerOptions},
		{name: "nodemanager", kind: daemonCommand, group: groupDaemon, title: "yarn nodemanager [OPTION]", summary: "run a NodeManager", options: nodeManagerOptions},
		{name: "logserver", kind: daemonCommand, group: groupDaemon, title: "yarn logserver", summary: "run the server for collected logs, which also deletes old ones", options: []option{helpOption}},
		{name: "minicluster", kind: daemonCommand, group: groupDaemon, summary: "run a ResourceManager and NodeManagers in one process, on loopback", raw: true, bare: true},
		{name: "sim", kind: daemonCommand, group: groupClient, summary: "replay recorded decisions, or what a ResourceManager did, or compare configurations: sim replay TRACE..., sim rerun FILE, sim compare TRACE...", raw: true, bare: true},
		{name: "shell", title: "yarn shell [OPTIONS] [--] COMMAND [ARG...]", group: groupClient, summary: "run a command in containers and print its output",
			options: shellOptions, program: true, copies: copies{out: true, err: true}, run: runShell},
		{name: hiddenShellMaster, group: groupClient, summary: "run the master of yarn shell", raw: true, bare: true, hidden: true, run: runShellMaster},
		{name: "jar", kind: javaCommand, group: groupClient, summary: "run a jar file with Java and the jars of Hadoop"},
		{name: "classpath", kind: javaCommand, group: groupClient, summary: "print the class path of Hadoop"},
	}, unbuilt()...)
}

// unbuilt are the subcommands of Hadoop's bin/yarn that are not here yet.
func unbuilt() []*command {
	var out []*command
	for _, k := range []struct{ name, group, summary string }{
		{"nodeattributes", groupAdmin, "list and change node attributes"},
		{"scmadmin", groupAdmin, "administer the shared cache"},
		{"routeradmin", groupAdmin, "administer a federation router"},
		{"gpgadmin", groupAdmin, "administer the federation policy generator"},
		{"proxyserver", groupDaemon, "run the web proxy on its own"},
		{"registrydns", groupDaemon, "run the registry's name server"},
		{"router", groupDaemon, "run a federation router"},
		{"globalpolicygenerator", groupDaemon, "run the federation policy generator"},
		{"sharedcachemanager", groupDaemon, "run the shared cache"},
		{"timelinereader", groupDaemon, "run the timeline reader"},
		{"timelineserver", groupDaemon, "run the timeline server"},
		{"historyserver", groupDaemon, "run the timeline server, by its older name"},
	} {
		out = append(out, &command{name: k.name, group: k.group, summary: k.summary, kind: missing, why: instead[k.name], raw: true})
	}
	return out
}

// instead says what there is in place of a subcommand for which Hadoop's own command is no help.
var instead = map[string]string{
	"nodeattributes": "the ResourceManager keeps no node attributes, so that Hadoop's own command could not change any either. Node labels are built: " +
		"yarn rmadmin -addToClusterNodeLabels",
}
