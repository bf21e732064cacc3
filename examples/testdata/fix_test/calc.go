// Package calc does sums.
package calc

// Mean is the mean of numbers, 0 when there are none.
func Mean(numbers []int) int {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	return sum / len(numbers)
}
