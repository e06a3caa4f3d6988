// Package hoststest has broken host lists, for tests of whoever reads lists.
package hoststest

import (
	"strings"

	"github.com/heddle-project/heddle/internal/hosts"
)

// Broken is an exclude list that is refused.
type Broken struct {
	File    string // its name, which tells its form
	Content string
	Want    string // is in the error
}

// Lists are broken in every way that we know of.
func Lists() []Broken {
	json := func(entry string) string { return "{\n \"exclude\": [\n  " + entry + "\n ]\n}\n" }
	return []Broken{
		{"a", "ok\n" + strings.Repeat("x", hosts.MaxName+1), "line 2: host name of 256 bytes"},
		{"a", "ok\nn1 \xff", "line 2: it is not UTF-8 text"},
		{"a", "\xff\xfen\x001\x00", "line 1: it is UTF-16"},
		{"a", "\xfe\xff\x00n\x001", "line 1: it is UTF-16"},
		{"a", "n1\nn\x002\x00", `line 2: host name "n\x002\x00" has characters that cannot be seen`},
		{"a", "n1\n\xef\xbb\xbfn2", "line 2: host name"},
		{"a", "n1\u200b", "line 1: host name"},
		{"a", strings.Repeat("\n", hosts.MaxFile+1), "it is larger than 16777216 bytes"},
		{"a", strings.Repeat("n1\n", 3) + many(hosts.MaxHosts+1), "line 1048580: more than 1048576 hosts"},

		{"a.xml", "", "no root element"},
		{"a.xml", "<hosts>\n<host>", "line 2: XML syntax error"},
		{"a.xml", "<hosts>\n<host>\n</hosts>", "line 3: XML syntax error"},
		{"a.xml", "<a/>\n<b/>", "line 2: a second root element"},
		{"a.xml", "<a/>\nn1", "line 2: text outside"},
		{"a.xml", "n1 n2", "line 1: text outside"},
		{"a.xml", `{"exclude":[]}`, "line 1: text outside"},
		{"a.xml", `<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>`, "line 1: document types"},
		{"a.xml", "<!DOCTYPE hosts>\n<a/>", "document types"},
		{"a.xml", "<a>\n&e;</a>", "line 2: XML syntax error on line 2: invalid character entity"},
		{"a.xml", strings.Repeat("<a>", 17), "line 1: elements nest deeper than 16"},
		{"a.xml", "<a><host>\n<x><host/></x></host></a>", "line 2: a host element within another"},
		{"a.xml", "<a>\n\n<host><name>n</name><timeout>soon</timeout></host></a>", `line 3: timeout "soon" is not`},
		{"a.xml", "<a><host><name>n</name><timeout/></host></a>", `line 1: timeout "" is not`},
		{"a.xml", "<a><host><name>n</name><timeout>1 2</timeout></host></a>", `timeout "1 2" is not`},
		{"a.xml", "<a><host><name>n</name><timeout>3000000000</timeout></host></a>", "is not a whole number"},
		{"a.xml", "<a><host><name>n</name><timeout>1.5</timeout></host></a>", "is not a whole number"},
		{"a.xml", "<a><host><name>n1\nn2</name></host></a>", "line 2: host name"},
		{"a.xml", "<a><host><name>" + strings.Repeat("x", hosts.MaxName+1) + "</name></host></a>", "line 1: host name of 256 bytes"},
		{"a.xml", `<?xml version="1.0" encoding="UTF-16"?><a/>`, "line 1: xml: encoding"},
		{"a.xml", "<a>\n\x01</a>", "line 2: XML syntax error"},
		{"a.xml", "<a>\xff</a>", "line 1: it is not UTF-8"},
		{"a.xml", "<a>" + strings.Repeat(" ", hosts.MaxFile) + "</a>", "it is larger than"},

		{"a.json", "", "line 1: the JSON ends too soon"},
		{"a.json", "{\n\"exclude\": [\n", "line 2: the JSON ends too soon"},
		{"a.json", "{\n\"exclude\": [{\"host\": \"n", "line 2: the JSON ends too soon"},
		{"a.json", "n1\nn2\n", "line 1: invalid character"},
		{"a.json", "[]", "line 1: an object is wanted, not an array"},
		{"a.json", "\nnull", "line 2: an object is wanted, not null"},
		{"a.json", "{}\n{}", "line 2: something follows the object"},
		{"a.json", "{}\n}", "line 2: something follows the object"},
		{"a.json", "{\"exclude\":[]\n,}", "line 2: invalid character '}'"},
		{"a.json", "{\"exclude\":\n{}}", "line 2: an array of hosts is wanted, not an object"},
		{"a.json", `{"exclude":null}`, "an array of hosts is wanted, not null"},
		{"a.json", "{\"exclude\":[],\n\"exclude\":[]}", `line 2: "exclude" stands here twice`},
		{"a.json", "{\n\"Exclude\":[]}", `line 2: "Exclude" is not known here; there is include, exclude`},
		{"a.json", "{\n\"hosts\":[]}", `line 2: "hosts" is not known here`},
		{"a.json", "{\n// none\n}", "line 2: invalid character '/'"},
		{"a.json", json(`"n1"`), `line 3: an object such as {"host": "n1"} is wanted, not "n1"`},
		{"a.json", json(`{}`), "line 3: an entry without host"},
		{"a.json", json(`{"host":"n1"} {"host":"n2"}`), "line 3: invalid character '{'"},
		{"a.json", json(`{"host":"n1"},`), "line 4: invalid character ']'"},
		{"a.json", json(`{"host":"n1","host":"n2"}`), `line 3: "host" stands here twice`},
		{"a.json", json(`{"host":"n1","timeout":5}`), `line 3: "timeout" is not known here; there is host, timeoutSecs, deadline, reason`},
		{"a.json", json(`{"host":"n1","mode":"now"}`), `"mode" is not known here`},
		{"a.json", json(`{"host":1}`), "line 3: host is text, not 1"},
		{"a.json", json(`{"host":null}`), "host is text, not null"},
		{"a.json", json(`{"host":["n1","n2"]}`), "host is text, not an array"},
		{"a.json", json(`{"host":` + strings.Repeat("[", 100000)), "host is text, not an array"},
		{"a.json", json(`{"host":""}`), `host "" is neither a name nor an address`},
		{"a.json", json(`{"host":"n1 n2"}`), `host "n1 n2" is neither`},
		{"a.json", json(`{"host":"n1,n2"}`), "is neither"},
		{"a.json", json(`{"host":"n1:8041"}`), "is neither"},
		{"a.json", json(`{"host":"10.0.0.0/8"}`), "is neither"},
		{"a.json", json(`{"host":"\ud800"}`), "is neither"},
		{"a.json", json(`{"host":"` + strings.Repeat("x", hosts.MaxName+1) + `"}`), "line 3: host name of 256 bytes"},
		{"a.json", json(`{"host":"n1","timeoutSecs":"600"}`), `line 3: timeoutSecs is a whole number of seconds, of at most 32 bits, not "600"`},
		{"a.json", json(`{"host":"n1","timeoutSecs":1.5}`), "not 1.5"},
		{"a.json", json(`{"host":"n1","timeoutSecs":1e3}`), "not 1e3"},
		{"a.json", json(`{"host":"n1","timeoutSecs":2147483648}`), "not 2147483648"},
		{"a.json", json(`{"host":"n1","timeoutSecs":` + strings.Repeat("9", 5000) + `}`), "not 999"},
		{"a.json", json(`{"host":"n1","timeoutSecs":null}`), "not null"},
		{"a.json", json(`{"host":"n1","timeoutSecs":-}`), "line 3: invalid character '}'"},
		{"a.json", json("{\"host\":\"n1\",\n\"timeoutSecs\":5,\"deadline\":\"2026-11-24T18:00:00Z\"}"), "line 3: n1 has both timeoutSecs and deadline"},
		{"a.json", json(`{"host":"n1","deadline":"2026-11-24T18:00:00"}`), `line 3: deadline "2026-11-24T18:00:00" is not a time since 1970 with its zone`},
		{"a.json", json(`{"host":"n1","deadline":"2026-02-30T18:00:00Z"}`), "is not a time"},
		{"a.json", json(`{"host":"n1","deadline":"2026-11-24T8:00:00Z"}`), "is not a time"},
		{"a.json", json(`{"host":"n1","deadline":"2026-11-24T18:00:00,5Z"}`), "is not a time"},
		{"a.json", json(`{"host":"n1","deadline":"2026-11-24T18:00:00+99:99"}`), "is not a time"},
		{"a.json", json(`{"host":"n1","deadline":"2026-11-24"}`), "is not a time"},
		{"a.json", json(`{"host":"n1","deadline":"0001-01-01T00:00:00Z"}`), "is not a time"},
		{"a.json", json(`{"host":"n1","deadline":"soon"}`), "is not a time"},
		{"a.json", json(`{"host":"n1","deadline":1795543200000}`), "deadline is text, not 1795543200000"},
		{"a.json", json(`{"host":"n1","reason":"` + strings.Repeat("x", hosts.MaxReason+1) + `"}`), "line 3: a reason of 1025 bytes is longer than 1024"},
		{"a.json", json(`{"host":"n1","reason":"a\nb"}`), `line 3: reason "a\nb" has control characters`},
		{"a.json", json("{\"host\":\"n1\",\"reason\":\"a\nb\"}"), "line 3: invalid character"},
		{"a.json", json(`{"host":"n1","reason":["a"]}`), "reason is text, not an array"},
		{"a.json", json("{\"host\":\"n1\",\"reason\":\"\xff\"}"), "line 3: it is not UTF-8"},
		{"a.json", "{" + strings.Repeat(" ", hosts.MaxFile) + "}", "it is larger than"},
		{"a.json", "{\n\"include\":[{\"host\":\"n1\"}]}", `line 2: "include" would be ignored`},
	}
}

// many are the names of so many hosts, one a line.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(number(i))
		b.WriteByte('\n')
	}
	return b.String()
}

// number is short, so that as many as there may be fit into a file.
func number(i int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	s := ""
	for ; i > 0 || s == ""; i /= len(digits) {
		s += digits[i%len(digits):][:1]
	}
	return s
}
