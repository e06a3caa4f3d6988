package engine

import (
	"testing"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

func sized(number int, mb int64) UpdatedContainer {
	return UpdatedContainer{Grant: Grant{ID: yarn.ContainerID{Number: int64(number)}, Resource: yarn.NewResource(mb, 1)}}
}

// TestManyUpdates: a node that fetches nothing costs no more for each change of its containers, and each container's last change is fetched once.
func TestManyUpdates(t *testing.T) {
	const many = 200_000
	var u updates
	began := time.Now()
	for round := range int64(2) {
		for i := range many {
			u.put(sized(i, round))
		}
	}
	if took := time.Since(began); took > 10*time.Second { // half an hour, if each looked at all others
		t.Errorf("%d changes took %s", 2*many, took)
	}
	if first := u.take(3); len(first) != 3 || first[0].Grant.Resource.MemoryMB() != 1 || u.len() != many-3 || u.has(first[2].Grant.ID) {
		t.Fatalf("the first ones are %v; %d are left", first, u.len())
	}
	u.put(sized(3, 7))
	u.put(sized(0, 8))
	rest := u.take(many)
	if len(rest) != many-2 || u.len() != 0 || u.has(rest[0].Grant.ID) {
		t.Fatalf("%d are fetched, %d are left", len(rest), u.len())
	}
	if a, z := rest[0].Grant, rest[len(rest)-1].Grant; a.ID.Number != 3 || a.Resource.MemoryMB() != 7 || z.ID.Number != 0 || z.Resource.MemoryMB() != 8 {
		t.Errorf("the rest is from %v to %v", a, z)
	}
}
