package apache_test

import (
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
)

// TestConformance runs the suite on a store in memory whose form is Hadoop's.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Subject {
		disk := memory.NewDisk()
		return storetest.Subject{
			Open: func(_ testing.TB, o store.Options) store.Store {
				o.Codec = apache.Codec{Types: o.Types}
				return disk.Open(o)
			},
			Overwrite: func(_ testing.TB, key state.Key, value []byte) { disk.Overwrite(key, value) },
			Codec:     apache.Codec{Types: storetest.Types()},
			Damages:   storetest.ApacheDamages,
		}
	})
}
