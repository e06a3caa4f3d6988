// Command gendefaults writes the table of Hadoop's default properties that
// package conf embeds, from a recorded listing of core-default.xml and
// yarn-default.xml (three columns: file, property, default).
//
// Properties of cloud object stores are left out: no daemon of ours reads them
// and they are a third of the listing.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// foreign lists the prefixes that are dropped.
var foreign = []string{
	"fs.s3a.", "fs.azure.", "fs.abfs.", "fs.wasb.", "fs.wasbs.", "fs.adl.", "adl.",
	"fs.gs.", "fs.oss.", "fs.obs.", "fs.cosn.", "fs.viewfs.", "fs.ftp.", "ftp.", "seq.", "tfile.",
}

func main() {
	in := flag.String("in", "", "recorded listing")
	out := flag.String("out", "", "table to write")
	flag.Parse()
	data, err := os.ReadFile(*in)
	if err == nil {
		var table string
		if table, err = Table(string(data)); err == nil {
			err = os.WriteFile(*out, []byte(table), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "gendefaults: writing %s from %s: %v\n", *out, *in, err)
		os.Exit(1)
	}
}

// Table renders the listing as sections "[file]" followed by "name<TAB>value"
// lines in the order of the file, because a later duplicate wins. Escapes in
// values (\n, \t, \\) are kept.
func Table(listing string) (string, error) {
	var b strings.Builder
	section := ""
	for n, line := range strings.Split(strings.TrimRight(listing, "\n"), "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			return "", fmt.Errorf("line %d has %d columns instead of 3", n+1, len(fields))
		}
		if dropped(fields[1]) {
			continue
		}
		if fields[0] != section {
			section = fields[0]
			fmt.Fprintf(&b, "[%s]\n", section)
		}
		fmt.Fprintf(&b, "%s\t%s\n", fields[1], fields[2])
	}
	return b.String(), nil
}

func dropped(name string) bool {
	for _, p := range foreign {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
