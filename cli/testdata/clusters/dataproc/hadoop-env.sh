export HADOOP_CLASSPATH="$HADOOP_CLASSPATH:/etc/tez/conf:/usr/lib/tez/*:/usr/lib/tez/lib/*"
export HADOOP_OPTS="$HADOOP_OPTS -Djava.net.preferIPv4Stack=true"
export YARN_RESOURCEMANAGER_HEAPSIZE=3979
for f in /usr/local/share/google/dataproc/lib/*.jar; do
  HADOOP_CLASSPATH="${HADOOP_CLASSPATH}:$f"
done
