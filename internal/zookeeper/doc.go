// Package zookeeper is the connection to ZooKeeper that the state store, the election
// and the configuration store share: a small interface, the client behind it, and
// Hadoop's way of writing access lists and credentials. Package zookeepertest has the
// same interface in memory.
package zookeeper
