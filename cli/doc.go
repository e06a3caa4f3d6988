// Package cli is the yarn command: Hadoop's bin/yarn in one program.
//
// One table, [Commands], lists every subcommand with its options. It drives
// parsing, usage texts and what is said about subcommands that exist in Hadoop
// but are not built here. Subcommands talk to a cluster through package client;
// daemons and simulations are functions that the caller of [Main] hands over in
// [Daemons], so this package knows none of them.
//
// Tables, messages and exit codes are those of Hadoop 3.5's tools, because
// scripts parse them. Usage texts have the same layout in our own words. What a
// script should parse instead is behind --output json: an object with "schema"
// (see [Schema]), "kind" and the data.
package cli
