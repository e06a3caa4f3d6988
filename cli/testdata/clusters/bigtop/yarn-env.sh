# What /etc/default/hadoop-yarn-resourcemanager says, for daemons that are not started by the init script.
export YARN_IDENT_STRING=yarn
export YARN_PID_DIR=/var/run/hadoop-yarn
export YARN_LOG_DIR=/var/log/hadoop-yarn
export YARN_CONF_DIR=/etc/hadoop/conf
export HADOOP_YARN_USER=${HADOOP_YARN_USER:-yarn}
if [ "$JAVA_HOME" != "" ]; then
  JAVA_HOME=$JAVA_HOME
fi
JAVA_HEAP_MAX=-Xmx1000m
# The queues' administrators like long names.
YARN_OPTS="$YARN_OPTS -Dhadoop.log.dir=$YARN_LOG_DIR -Dyarn.policy.file=$YARN_POLICYFILE"
export YARN_RESOURCEMANAGER_HEAPSIZE=4000
ulimit -n 32768
