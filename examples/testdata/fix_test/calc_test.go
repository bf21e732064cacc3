package calc

import "testing"

func TestMean(t *testing.T) {
	if got := Mean([]int{2, 4, 6}); got != 4 {
		t.Errorf("Mean(2, 4, 6) = %d, want 4", got)
	}
	if got := Mean(nil); got != 0 {
		t.Errorf("Mean() = %d, want 0", got)
	}
}
