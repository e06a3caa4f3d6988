// Package scheduler is a sample that breaks every rule of purity.
package scheduler

import (
	"fmt"
	"maps"
	"math/rand" // want "must not import math/rand"
	"os"        // want "must not import os"
	"slices"
	"sync" // want "must not import sync"
	"time"
)

type names map[string]int

// Bad breaks the rules.
func Bad(m map[string]int, n names) int {
	go func() {}() // want "starts no goroutine"
	var mu sync.Mutex
	mu.Lock()
	c := make(chan int)   // want "has no channels"
	c <- 1                // want "has no channels"
	<-c                   // want "has no channels"
	select {}             // want "has no channels"
	now := time.Now()     // want "must not use time.Now"
	wait := time.Sleep    // want "must not use time.Sleep"
	wait(time.Since(now)) // want "must not use time.Since"
	fmt.Println(os.Args)  // want "must not use fmt.Println"
	for k := range m {    // want "ranges over a map"
		_ = k
	}
	for range n { // want "ranges over a map"
	}
	for k := range maps.Keys(m) { // want "maps.Keys hands out a map's order"
		_ = k
	}
	return rand.Int()
}

func generic[M ~map[K]V, K comparable, V any](m M) {
	for range m { // want "ranges over a map"
	}
}

// Good keeps them.
func Good(m map[string]int, list []int, now time.Time) (sum int) {
	//tidy:unordered addition does not mind the order
	for _, v := range m {
		sum += v
	}
	for range m { //tidy:unordered counts only
		sum++
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		sum += len(k)
	}
	for _, v := range list {
		sum += v
	}
	return sum + int(time.Duration(5)*time.Second) + now.Nanosecond()
}

func unexplained(m map[string]int) {
	for range m { // want "ranges over a map"
	}
}
