// Package cli is the yarn command: Hadoop's bin/yarn in one program.
//
// One table, [Commands], lists every subcommand with its options. Parsing,
// usage texts and the messages about Hadoop's subcommands that are not built
// here come from it. Subcommands talk to a cluster through package client;
// daemons and simulations are functions that the caller of [Main] passes in
// [Daemons], so this package does not depend on them.
//
// Tables, messages and exit codes are those of Hadoop 3.5's tools, because
// scripts parse them. Usage texts have the same layout in our own words. What a
// script should parse instead is behind --output json: an object with "schema"
// (see [Schema]), "kind" and the data.
package cli
