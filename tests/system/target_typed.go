// SPDX-License-Identifier: MIT
// Functions that are called with known values.
package main

import "fmt"

type Shade int

type Shop struct{ name string }

//go:noinline
func typed(small int8, shade Shade, text string, ratio float64, flag bool, large uint64) int {
	if flag {
		return int(small) + len(text)
	}
	return int(large) + int(ratio) + int(shade)
}

//go:noinline
func (shop *Shop) serve(who string, many int) (total int, err error) {
	return many + len(who) + len(shop.name), nil
}

//go:noinline
func registers(a, b, c, d, e, f, g, h, i, tenth int) int {
	return a + b + c + d + e + f + g + h + i + tenth
}

//go:noinline
func parts(bytes []byte, behind uint16, err error) int {
	return len(bytes) + int(behind)
}

func main() {
	shop := &Shop{"corner"}
	sum := 0
	for i := 0; i < 20; i++ {
		text := []string{"even", "odd"}[i%2]
		sum += typed(int8(-i), Shade(i), text, float64(i), i%2 == 1, uint64(1)<<63+uint64(i))
		many, _ := shop.serve(fmt.Sprint("customer ", i), i)
		sum += many + registers(1, 2, 3, 4, 5, 6, 7, 8, i, 100+i)
		sum += parts([]byte(text), uint16(65000+i), nil)
	}
	fmt.Println(sum)
}
