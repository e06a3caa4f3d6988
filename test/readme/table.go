package main

// way is how one command is run, and what shows that it did what it should. Its exit code must be 0.
type way struct {
	command   string // as README has it
	elsewhere string // who runs it, in the place of this program
	prints    string // a regular expression that its output must fit, standard error included
	again     bool   // it is repeated until it prints that: what it shows takes a moment to come
	stays     bool   // it runs until it is interrupted, which is done when it has printed that
	instead   string // what is run for it
	until     string // it runs beside the next commands, and is interrupted after this one
}

// yarn begins most commands.
const yarn = "bin/yarn --config /etc/hadoop/conf "

// first begins those of the first ten minutes.
const first = "bin/yarn --config /tmp/first/conf "

const (
	byTheReader = "a step of its own, before or around this one"
	needsHadoop = "needs a Hadoop in HADOOP_HOME; stock clients run the same in test/compat/run-pi"
	needsSpark  = "needs a Spark in SPARK_HOME; stock clients run the same in test/compat/run-spark"
)

var table = []way{
	{command: "make demo", elsewhere: byTheReader},
	{command: "make check", elsewhere: byTheReader},
	{command: "make build", elsewhere: byTheReader},
	{command: "apt-get install make openjdk-17-jdk-headless maven python3 curl protobuf-compiler", elsewhere: "changes the machine"},

	{command: "bin/yarn minicluster --nodes 2 --memory 2048 --dir /tmp/first -conf yarn.resourcemanager.webapp.address=localhost:8088",
		prints: `pages: +http://\S+:\d+\nconfiguration: [^\n]+\n(?s:.*)Ctrl-C ends it`, until: first + "application -kill application_1700000000000_0001"},
	{command: "xdg-open http://localhost:8088/ui", instead: "test/ui/see http://localhost:8088/ui Overview", prints: `shows Overview|<title>`},
	{command: first + "shell -n 4 -memory 128 -name hello -- 'echo hello from $NM_HOST'", prints: `(?s)(\[\d+\] hello from \S+\n.*){4}is over: SUCCEEDED: 4 of 4 containers`},
	{command: first + "shell -memory 128 -name one -- sleep 600 &", prints: `is submitted`, until: first + "application -kill application_1700000000000_0001"},
	{command: first + "shell -memory 128 -name two -- sleep 600 &", prints: `is submitted`, until: first + "application -kill application_1700000000000_0001"},
	{command: first + "shell -memory 128 -name three -- sleep 600 &", prints: `is submitted`, until: first + "application -kill application_1700000000000_0001"},
	{command: first + "application -list", prints: `(?s)three.*ACCEPTED`},
	{command: first + "application -why application_1700000000000_0001", prints: `(?s)waits: the queue allows 2048 MB for ApplicationMasters.*enough would be: \S+maximum-am-resource-percent = 0\.`, again: true},
	{command: "sed -i 's/>0.5</>0.75</' /tmp/first/conf/capacity-scheduler.xml"},
	{command: first + "rmadmin -refreshQueues"},
	{command: first + "application -status application_1700000000000_0001", prints: `\sState : RUNNING`, again: true},
	{command: first + `node -drain -count 1 -reason "new disks"`, prints: `new disks`},
	{command: first + "node -drain-status", prints: `(?s)DECOMMISSION.*new disks`},
	{command: first + "logs -applicationId application_1700000000000_0001", prints: `LogType:stdout`, again: true},
	{command: first + "application -kill application_1700000000000_0001", prints: `Killing application application_\d+_0004`},

	{command: yarn + "conf -lint", prints: `refused: 0, changed: 0, ignored: 0`},
	{command: yarn + "queue -lint -strict", prints: `errors: 0, warnings: 0, hints: 0`},
	{command: yarn + "--daemon start resourcemanager", // and the reader's way to the next command, lest the NodeManager be there first, which it would warn of
		instead: yarn + "--daemon start resourcemanager && until curl -sf -o /dev/null http://localhost:8088/ws/v1/cluster/info; do sleep 0.1; done"},
	{command: yarn + "--daemon start nodemanager"},
	{command: yarn + "node -list", prints: `Total Nodes:1\n(?s:.*)RUNNING`, again: true},

	{command: yarn + "shell -n 20 -- 'echo from $NM_HOST'", prints: `(?s)(\[\d+\] from localhost\n.*){20}is over: SUCCEEDED: 20 of 20 containers`},
	{command: "export HADOOP_CONF_DIR=/etc/hadoop/conf", elsewhere: "is for the two commands after it"},
	{command: "$HADOOP_HOME/bin/yarn jar $HADOOP_HOME/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar pi 4 1000", elsewhere: needsHadoop},
	{command: "$SPARK_HOME/bin/spark-submit --master yarn --deploy-mode cluster $SPARK_HOME/examples/src/main/python/pi.py", elsewhere: needsSpark},

	{command: yarn + "application -list -appStates ALL", prints: `application_\d+_0001\s.*FINISHED\s+SUCCEEDED`},
	{command: yarn + "application -status application_1700000000000_0001", prints: `Final-State : SUCCEEDED`},
	{command: "curl http://localhost:8088/ws/v1/cluster/apps/application_1700000000000_0001/why", prints: `"state":"FINISHED","waiting":false`},
	{command: yarn + "logs -applicationId application_1700000000000_0001 -log_files stdout", prints: `(?s)(LogType:stdout\n.*from localhost\n.*){20}`, again: true},

	{command: yarn + "rmadmin -refreshQueues"},
	{command: yarn + "application -kill application_1700000000000_0001", prints: `application_\d+_0001 has already finished`},
	{command: yarn + "--daemon stop nodemanager"},
	{command: yarn + "--daemon stop resourcemanager"},

	{command: "bin/yarn sim replay test/parity/traces/examples/*.jsonl --out /tmp/replayed",
		prints: `\d+ of \d+ traces replayed, answers in \S+`},
}

func wayOf(text string) (way, bool) {
	for _, w := range table {
		if w.command == text {
			return w, true
		}
	}
	return way{}, false
}
