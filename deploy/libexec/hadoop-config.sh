# Sourced by scripts of operators that want Hadoop's variables: HADOOP_HOME, HADOOP_CONF_DIR, HADOOP_YARN_HOME, JAVA_HOME and so on, as `yarn envvars`
# computes them. It defines none of the functions of Hadoop's file of this name.
HADOOP_LIBEXEC_DIR=${HADOOP_LIBEXEC_DIR:-$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)}
HADOOP_HOME=${HADOOP_HOME:-$(dirname "$HADOOP_LIBEXEC_DIR")}
set -a
eval "$("$HADOOP_HOME/bin/yarn" envvars)"
set +a
export HADOOP_HOME HADOOP_LIBEXEC_DIR
