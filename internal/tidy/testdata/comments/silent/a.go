// A detached remark.

package silent // want "package silent has no package comment"
