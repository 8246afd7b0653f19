// SPDX-License-Identifier: MIT
// Goroutines whose stacks grow, and which change threads.
package main

import (
	"runtime"
	"sync"
)

//go:noinline
func grow(n int, room [512]byte) int {
	if n == 0 {
		return int(room[0])
	}
	room[n%512]++
	return grow(n-1, room) + 1
}

//go:noinline
func work(i int) int {
	runtime.Gosched()
	return i * 2
}

func main() {
	var all sync.WaitGroup
	for g := 0; g < 4; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 10; i++ {
				work(i)
			}
			grow(50, [512]byte{})
		}()
	}
	all.Wait()
	println("lived")
}
