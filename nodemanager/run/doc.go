// Package run puts a container's files on disk, starts its process, waits for it, finds it again in the daemon's next life
// and ends it, with all that it has started. What is on disk and in the environment is what containers know from Apache's
// DefaultContainerExecutor. When a container is started or killed, and what its exit means, is not decided here.
//
// Three scripts lie in the working directory. The daemon starts default_container_executor.sh in a session of its own,
// which runs default_container_executor_session.sh and afterwards writes the exit code to the file <pid file>.exitcode. The
// second writes its process id to the pid file and becomes the leader of a new session: the container. That becomes
// launch_container.sh, which sets the environment and the links up and becomes the container's command. Nothing of this
// hangs on the daemon, which may be killed and started anew meanwhile.
//
// Containers run as the daemon's user, so they can forge each of these files. They cannot harm more by that than themselves
// and what they could signal anyway: the daemon believes a pid file only of processes that bear the container's mark in
// their environment or among their limits, or no mark and the right age, and never signals itself or its own ancestors.
package run
