# Read, not run: plain assignments (docs/configuration.md). For daemons started by `yarn --daemon start`; those that systemd starts log to the journal.
export HADOOP_LOG_DIR=/var/log/hadoop-yarn
export HADOOP_PID_DIR=/run/hadoop-yarn
# The daemon rotates its log itself, without logrotate: at 256 MB, keeping 20 older files, unless this says otherwise.
# YARN_RESOURCEMANAGER_OPTS="-Dhadoop.log.maxfilesize=64MB -Dhadoop.log.maxbackupindex=10"
# Seconds that `yarn --daemon stop` waits before it kills the daemon.
export HADOOP_STOP_TIMEOUT=30
