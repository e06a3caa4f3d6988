// Package java has Hadoop's own ContainerLocalizer fetch resources from file systems that Go does not speak here: s3a, abfs,
// viewfs, har and whatever else a Hadoop on this machine has classes for.
//
// A crew stands for the resources wanted for one container, except PUBLIC ones: those are fetched as the node's user and
// without the container's credentials, since other containers share them. A crew has at most one process at a time. The process
// is started with its own token, logs in with it at the localizer port and sends heartbeats (Beat). Each answer gives it at
// most one resource; the next follows when that is done. With nothing left to do, or after a failure, it is told to end. It is
// killed when its resource is no longer wanted, when it has sent no heartbeat for too long, and when the daemon ends (by the
// kernel if need be). If a process ends without having been told to, all resources asked of it have failed.
//
// Where things go and what is made of them is not decided here: localize looks at what has come. See ContainerLocalizer,
// ResourceLocalizationService.LocalizerRunner and LinuxContainerExecutor.startLocalizer in Apache's sources for the other
// side.
package java
