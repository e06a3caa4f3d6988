// Package java has Hadoop's own ContainerLocalizer fetch resources from file systems that Go does not speak here: s3a, abfs,
// viewfs, har and whatever else a Hadoop on this machine has classes for.
//
// A crew is what is wanted for one container, its PUBLIC resources apart: those are fetched as the node's user and without
// the container's credentials, since others will get them too. A crew has at most one process at a time. It is started with
// a token of its own, logs in with that at the localizer port and sends heartbeats (Beat); an answer gives it one resource
// at most, and the next when that is done. With nothing left to do, or after a failure, it is told to end; it is killed
// when nobody wants any more what it fetches, when it has been silent for too long, and with the daemon, by the kernel if
// need be. What ends without having been told to has failed, with all that was asked of it.
//
// Where things go and what is made of them is not decided here: localize looks at what has come. See ContainerLocalizer,
// ResourceLocalizationService.LocalizerRunner and LinuxContainerExecutor.startLocalizer in Apache's sources for the other
// side.
package java
