package surge

import "testing"

func TestHeadroom(t *testing.T) {
	const mb = 1 << 20
	for live, want := range map[uint64]int{0: 100, 10 * mb: 100, 73 * mb: 100, 128 * mb: 62, 256 * mb: 37, 1024 * mb: 18} {
		if got := percent(live); got != want {
			t.Errorf("%d MB live: %d, want %d", live/mb, got, want)
		}
	}
}
