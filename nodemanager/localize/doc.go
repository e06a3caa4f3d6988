// Package localize brings resources of containers onto this node: it downloads one resource into one directory of the
// node's cache, checks it, unpacks it and sets the modes, and it clears caches away at start and when told to.
//
// Which containers share a resource, where in the caches it goes and when it leaves them are decided elsewhere; what is
// here carries that out. See FSDownload, ResourceLocalizationService and LocalCacheDirectoryManager in Apache's sources
// for the behaviour that containers expect.
//
// Everything that comes is hostile: archives are unpacked in this process below an os.Root, within Limits, and a fetch
// that fails or is cancelled leaves nothing.
package localize
