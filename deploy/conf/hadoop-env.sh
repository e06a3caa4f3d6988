# Read, not run: plain assignments (docs/configuration.md). Java applications on the nodes, `yarn jar`, and Hadoop's localizer, which
# the NodeManager starts for file systems such as s3a, need both. Containers get both, and HADOOP_COMMON_HOME and the like, which follow from them.
# export JAVA_HOME=/usr/lib/jvm/default-java
# export HADOOP_HOME=/opt/hadoop
