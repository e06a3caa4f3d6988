# {{CMF_CONF_DIR}} and the like are replaced by the agent.
export HADOOP_MAPRED_HOME=$( ([[ ! '/opt/parcels/CDH/lib/hadoop-mapreduce' =~ MR2_HOME_PLACE ]] && echo /opt/parcels/CDH/lib/hadoop-mapreduce ) || echo ${CDH_MR2_HOME:-/usr/lib/hadoop-mapreduce/} )
# HADOOP_CLASSPATH={{HADOOP_CLASSPATH}}
export YARN_OPTS="-Xms825955249 -Xmx825955249 -Djava.net.preferIPv4Stack=true $YARN_OPTS"
export HADOOP_CLIENT_OPTS="-Djava.net.preferIPv4Stack=true $HADOOP_CLIENT_OPTS"
