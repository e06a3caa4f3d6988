# Shared by the kit's scripts; sourced, not run.
set -u
KIT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${HEDDLE_COMPAT_CACHE:-$HOME/.cache/heddle-compat}
LIB=$CACHE/lib
# MapReduce jobs with another release's jars, from the client down to the tasks: HEDDLE_COMPAT_MR=3.4.2.
MR=${HEDDLE_COMPAT_MR:-}
LIB_MR=$CACHE/lib-mr-$MR
JAVA=${JAVA_HOME:+$JAVA_HOME/bin/}java
# What bin/yarn gives every JVM on 17+, and what a NodeManager expands <ADD_OPENS> to.
OPENS="--add-opens=java.base/java.lang=ALL-UNNAMED --add-exports=java.base/sun.net.dns=ALL-UNNAMED --add-exports=java.base/sun.net.util=ALL-UNNAMED"
# Few of the kit's JVMs live long enough for the second compiler to pay.
BRIEF="-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
JVM="-Xmx${HEDDLE_COMPAT_HEAP:-512m} $BRIEF -XX:-UsePerfData"

# ready: the options with which a JVM that has $LIB/* first on its classpath takes classes from the class data archive that `fetch` makes.
# A JVM that cannot use the archive loads from the jars, silently.
ready() { [ ! -f "$LIB/.ready.jsa" ] || echo "-XX:SharedArchiveFile=$LIB/.ready.jsa -Xlog:cds=off -Xlog:cds+dynamic=off"; }

die() { echo "$(basename "$0"): $*" >&2; exit 2; }

need_lib() {
  [ -f "$LIB/.complete" ] || "$KIT/fetch" >&2 || die "no Hadoop jars: run $KIT/fetch"
}

need_lib_mr() {
  case $MR in ''|3.4.2) ;; *) die "HEDDLE_COMPAT_MR=$MR: only 3.4.2 is known";; esac
  [ -z "$MR" ] || [ -f "$LIB_MR/.complete" ] || "$KIT/fetch" >&2 || die "no MapReduce $MR jars: run $KIT/fetch"
}

# A JAVA_HOME is what containers are told to use.
need_java_home() {
  if [ -z "${JAVA_HOME:-}" ]; then
    JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
    export JAVA_HOME
  fi
}

# conf_get CONFDIR FILE KEY: the literal value in a Hadoop XML file written one property a line or not.
conf_get() {
  [ -f "$1/$2" ] || return 0
  tr -d '\n' <"$1/$2" | sed 's/<property>/\n<property>/g' |
    sed -n "s|.*<name>[[:space:]]*$3[[:space:]]*</name>.*<value>\([^<]*\)</value>.*|\1|p" | tail -1
}

# rm_http CONFDIR: address of the (first) ResourceManager's web server.
rm_http() {
  local a h id
  a=$(conf_get "$1" yarn-site.xml yarn.resourcemanager.webapp.address)
  if [ -z "$a" ]; then
    id=$(conf_get "$1" yarn-site.xml yarn.resourcemanager.ha.rm-ids); id=${id%%,*}
    [ -n "$id" ] && a=$(conf_get "$1" yarn-site.xml "yarn.resourcemanager.webapp.address.$id")
  fi
  if [ -z "$a" ]; then
    h=$(conf_get "$1" yarn-site.xml yarn.resourcemanager.hostname); a=${h:-127.0.0.1}:8088
  fi
  echo "http://$a"
}

# java_client CONFDIR CLASS ARGS...: a stock client. CONFDIR may come last on its classpath: no jar has files with the same names.
java_client() {
  local conf=$1; shift
  HADOOP_CONF_DIR=$conf ${EXEC:-} $JAVA $JVM $(ready) $OPENS -Djava.net.preferIPv4Stack=true ${HEDDLE_COMPAT_OPTS:-} \
    -cp "$LIB/*:$conf" "$@"
}

# mr_client CONFDIR EXAMPLE ARGS...: one of the MapReduce examples, with the jars that HEDDLE_COMPAT_MR names on the
# classpath of the client, the ApplicationMaster and the tasks alike.
mr_client() {
  local conf=$1 example=$2 opts=(); shift 2
  need_lib_mr
  if [ -n "$MR" ]; then
    local LIB=$LIB_MR
    opts=(-Dyarn.application.classpath="$conf,$LIB_MR/*" -Dmapreduce.application.classpath="$LIB_MR/*")
  fi
  java_client "$conf" org.apache.hadoop.examples.ExampleDriver "$example" ${opts[@]+"${opts[@]}"} "$@"
}

# Ports that this script and those that called it have given out: whoever is to listen there may not do so yet.
export HEDDLE_COMPAT_PORTS=${HEDDLE_COMPAT_PORTS:-}
# free_port: puts a port into PORT: not in the ephemeral range, nobody listening, not given out before.
free_port() {
  local p
  while :; do
    p=$(( 10000 + (RANDOM * 32768 + RANDOM) % 20000 ))
    case " $HEDDLE_COMPAT_PORTS " in *" $p "*) continue;; esac
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null && continue
    HEDDLE_COMPAT_PORTS="$HEDDLE_COMPAT_PORTS $p"; PORT=$p; return
  done
}

# several_of COUNT: ids rm1, rm2, … of ResourceManagers with addresses of their own, in $ids and the options $ha.
several_of() {
  local r=yarn.resourcemanager id k; ids='' ha=(--conf $r.ha.enabled=true --conf $r.cluster-id=kit)
  for id in $(seq -f 'rm%g' "$1"); do
    ids=$ids${ids:+,}$id
    for k in address scheduler.address resource-tracker.address admin.address webapp.address; do free_port; ha+=(--conf "$r.$k.$id=127.0.0.1:$PORT"); done
  done
  ha+=(--conf "$r.ha.rm-ids=$ids")
}
# by_raft DIR: they keep their store together, in DIR; adds to $ha.
by_raft() {
  local r=yarn.resourcemanager id
  mkdir -p "$1"; head -c 32 /dev/urandom | base64 >"$1/secret"; chmod 600 "$1/secret"
  for id in ${ids//,/ }; do free_port; ha+=(--conf "$r.heddle.raft.address.$id=127.0.0.1:$PORT"); done
  ha+=(--conf $r.store.class=heddle.raft --conf "$r.heddle.raft.secret-file=$1/secret" --conf "$r.heddle.raft.path=$1/raft-\${$r.ha.id}")
}

now_ms() { date +%s%3N; }

# workload CONFDIR: what every run-X starts with. Sets CONF, URL, WORK (removed at exit) and START.
workload() {
  [ $# -ge 1 ] && [ -d "$1" ] || die "usage: $(basename "$0") CONFDIR"
  CONF=$(cd "$1" && pwd); NAME=$(basename "$0")${MR:+/mr-$MR}
  need_lib; need_java_home
  URL=$(rm_http "$CONF")
  # Seen by every node: the clusters of this kit are on one machine.
  WORK=$(mktemp -d "${TMPDIR:-/tmp}/heddle-$(basename "$0").XXXXXX"); chmod 755 "$WORK"
  trap 'release_tasks; [ -n "${HEDDLE_COMPAT_KEEP:-}" ] || rm -rf "$WORK"' EXIT
  export HEDDLE_COMPAT_OPTS="${HEDDLE_COMPAT_OPTS:-} -Duser.home=$WORK"
  START=$(now_ms)
}

# verdict APP CHECKS: end of a workload. CHECKS is empty or says what is wrong.
verdict() {
  local s f
  s=$(app_state "$URL" "$1"); f=$(app_final "$URL" "$1")
  if [ -z "$2" ] && [ "$s/$f" = "${3:-FINISHED/SUCCEEDED}" ]; then
    report "$NAME" PASS "$START" "$1 $s/$f${4:+ $4}"
  else
    HEDDLE_COMPAT_KEEP=1
    report "$NAME" FAIL "$START" "${1:-no application} $s/$f ${2:-} (client output: $WORK/out)"
  fi
}
app_id() { grep -o 'application_[0-9]*_[0-9]*' "$1" | head -1; }

# Workloads that kill need tasks which are still running when they look: some seconds of work for each map.
SLOW_SAMPLES=${HEDDLE_COMPAT_SAMPLES:-40000000}

# processes CLASS TEXT: ids of the JVMs of this workload's job whose command line names CLASS and TEXT.
processes() {
  local app p; app=$(app_id "$WORK/out"); app=${app#application_}; [ -n "$app" ] || return 0
  for p in $(pgrep -x java); do
    { tr "\0" " " <"/proc/$p/cmdline"; } 2>/dev/null | grep -F -- "$1" | grep -F -- "$2" | grep -qF "$app" && echo "$p"
  done
  true
}

# await_tasks N: until N task JVMs of the job run; fails when the client ends or after two minutes.
await_tasks() {
  local i
  for ((i = 0; i < 480; i++)); do
    [ "$(processes YarnChild attempt_ | wc -l)" -ge "$1" ] && return 0
    kill -0 "$client" 2>/dev/null || return 1
    sleep 0.25
  done
  return 1
}

# tasks PID...: how many tasks these JVMs run. One that starts a command is two processes for a moment, with one command line.
tasks() { local p; for p in "$@"; do { tr '\0' '\n' <"/proc/$p/cmdline"; } 2>/dev/null | grep -m1 '^attempt_'; done | sort -u | wc -l; }

# hold_tasks N: stops the JVMs (SIGSTOP) of the job's tasks until N are stopped, so that none ends before release_tasks, however quick the
# machine is; fails after a minute.
held=
hold_tasks() {
  local i; [ "$1" -gt 0 ] || return 1
  for ((i = 0; i < 240; i++)); do
    held=$(processes YarnChild attempt_)
    # shellcheck disable=SC2086
    kill -STOP $held 2>/dev/null
    # shellcheck disable=SC2086
    [ "$(tasks $held)" -ge "$1" ] && return 0
    sleep 0.25
  done
  return 1
}
# release_tasks: what hold_tasks stopped goes on.
release_tasks() {
  # shellcheck disable=SC2086
  [ -z "$held" ] || kill -CONT $held 2>/dev/null || true
  held=
}

# leftovers: waits up to 30 s for the job's last process to go; what stays is put in $left and killed.
leftovers() {
  local i
  for ((i = 0; i < 120; i++)); do
    left=$(processes "" "" | tr '\n' ' '); [ -z "${left// /}" ] && return 0
    sleep 0.25
  done
  # shellcheck disable=SC2086
  kill -9 $left 2>/dev/null
  return 1
}

# report NAME PASS|FAIL START_MS TEXT: the one summary line of a workload; returns its exit code.
report() {
  local ms=$(( $(now_ms) - $3 ))
  printf '%s %s %d.%03ds %s\n' "$2" "$1" $((ms/1000)) $((ms%1000)) "$4"
  [ "$2" = PASS ]
}

# The state and final state a ResourceManager reports for an application.
app_state() { [ -n "$2" ] && curl -s -m 10 -H 'Accept: application/json' "$1/ws/v1/cluster/apps/$2" | grep -o '"state":"[A-Z_]*"' | head -1 | cut -d'"' -f4; }
app_final() { [ -n "$2" ] && curl -s -m 10 -H 'Accept: application/json' "$1/ws/v1/cluster/apps/$2" | grep -o '"finalStatus":"[A-Z_]*"' | head -1 | cut -d'"' -f4; }

# spark_submit MODE EXECUTORS ARGS...: spark_job.py on YARN, its output to the file out.
spark_submit() {
  local mode=$1 executors=$2 py; shift 2
  ls "$CACHE"/spark/.complete-* >/dev/null 2>&1 || "$KIT/fetch" --spark >&2 || die "no Spark: run $KIT/fetch --spark"
  cp "$KIT/spark_job.py" .; chmod 777 .
  py=$(command -v python3)
  env SPARK_HOME="$CACHE/spark" HADOOP_CONF_DIR="$CONF" YARN_CONF_DIR="$CONF" SPARK_LOCAL_IP=127.0.0.1 \
    "$CACHE/spark/bin/spark-submit" --master yarn --deploy-mode "$mode" --name "heddle-compat-$mode" \
    --num-executors "$executors" --executor-memory 512m --executor-cores 1 --driver-memory 512m ${QUEUE:+--queue $QUEUE} \
    --conf spark.yarn.jars="local:$CACHE/spark/jars/*" --conf spark.yarn.am.memory=512m \
    --conf spark.yarn.stagingDir="file://$WORK/staging" --conf spark.ui.enabled=true --conf spark.ui.port=0 \
    --conf spark.driver.memoryOverhead=256m --conf spark.executor.memoryOverhead=256m --conf spark.yarn.am.memoryOverhead=256m \
    --conf spark.pyspark.python="$py" --conf spark.yarn.appMasterEnv.PYSPARK_PYTHON="$py" \
    --conf spark.scheduler.minRegisteredResourcesRatio=1.0 --driver-java-options "$BRIEF" \
    --conf "spark.executor.extraJavaOptions=$BRIEF" --conf "spark.yarn.am.extraJavaOptions=$BRIEF" \
    spark_job.py "$@" >out 2>&1
}
