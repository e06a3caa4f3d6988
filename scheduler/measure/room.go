package measure

import "github.com/heddle-project/heddle/yarn"

// SetMemory makes r an amount given by its memory alone, as OfMemory is, of two types.
func SetMemory(r *Resource, mb int64) {
	cores := int64(0)
	if mb > 0 {
		cores = 1
	}
	r[yarn.Memory], r[yarn.VCores] = mb, cores
}
