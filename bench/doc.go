//go:build linux

// Bench measures the console against what else could be used in its place, in one
// run on one machine, and writes docs/performance.md: make bench.
//
// Each measure runs in a process of its own, so that time and memory are its own.
// Streams come from the embedded daemon, which has them ready; curl into jq reads the
// same ones. Markdown is held against glamour. Keys go through a pseudo-terminal. No
// test rests on any of this.
package main
