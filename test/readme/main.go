// Command readme runs every command of README.md as it is written, in its order, on a cluster of its own whose configuration is deploy/conf. What it
// must replace, and what others run in its place, are the tables in table.go. It prints PASS or FAIL for each command and, last, "N passed, N failed".
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	text, err := os.ReadFile("README.md")
	if err == nil {
		_, err = os.Stat("bin/yarn")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "readme: %v: run it from the repository's root, after make build\n", err)
		os.Exit(2)
	}
	commands := parse(string(text))
	passed, failed := 0, 0
	say := func(what string, err error) {
		if err == nil {
			passed++
			fmt.Println("PASS readme:", what)
			return
		}
		failed++
		fmt.Printf("FAIL readme: %s: %v\n", what, err)
	}
	for _, err := range mismatches(commands) {
		say("the table", err)
	}
	s, err := newStage()
	if err != nil {
		say("the cluster's configuration", err)
	} else {
		for _, c := range commands {
			w, ok := wayOf(c.text)
			switch {
			case !ok: // said above
			case w.elsewhere != "":
				fmt.Printf("NOT RUN readme: line %d: %s: %s\n", c.line, c.text, w.elsewhere)
			default:
				say(fmt.Sprintf("line %d: %s", c.line, c.text), s.run(c.text, w))
			}
		}
		say("the daemons had nothing to warn about", s.warnings())
		say("nothing is left", s.close(failed > 0))
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// command is a line of a Markdown text that readers are meant to type.
type command struct {
	line int // from 1
	text string
}

// parse finds the commands: lines that four spaces make code, without the comment at their end.
func parse(markdown string) []command {
	var out []command
	for i, line := range strings.Split(markdown, "\n") {
		text, ok := strings.CutPrefix(line, "    ")
		if !ok || strings.TrimSpace(text) == "" {
			continue
		}
		text, _, _ = strings.Cut(text, "  #")
		out = append(out, command{i + 1, strings.TrimSpace(text)})
	}
	return out
}

// mismatches are commands that the table does not know, and rows of it that the text does not have.
func mismatches(commands []command) []error {
	var out []error
	seen := map[string]bool{}
	for _, c := range commands {
		seen[c.text] = true
		if _, ok := wayOf(c.text); !ok {
			out = append(out, fmt.Errorf("README.md:%d: no row of test/readme/table.go tells how to run %q: add one", c.line, c.text))
		}
	}
	for _, w := range table {
		if !seen[w.command] {
			out = append(out, fmt.Errorf("README.md does not have the command %q: take its row out of test/readme/table.go", w.command))
		}
	}
	return out
}
