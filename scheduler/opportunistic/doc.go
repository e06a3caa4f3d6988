// Package opportunistic finds nodes for opportunistic containers. They wait on their node until it has room for them, and are ended when it needs
// that room for guaranteed ones; so they are placed by how much waits on each node, and nobody's limits are asked. Loads has what nodes have
// reported of their queues, Asks what an attempt wants, and Place brings the two together. It knows neither books nor containers.
package opportunistic
