package introspect

import "strings"

// Bean is a set of values with a name, as Java's management beans are.
type Bean struct {
	// Name is DOMAIN:KEY=VALUE,KEY=VALUE,… . Metrics that Hadoop has are called
	// Hadoop:service=SERVICE,name=RECORD; only these are in /prom.
	Name string
	Type string // told as modelerType
	// Record begins the names in /prom; empty: the Type, up to a comma.
	Record string
	// Attributes are in the order in which they are told. Those whose names begin
	// with "tag." label the others in /prom.
	Attributes []Attribute
}

// Attribute is one value: nil, string, bool, int, int32, int64, float32, float64,
// []string, or []Attribute for a structure.
type Attribute struct {
	Name    string
	Value   any
	Help    string // for /prom; empty: the name
	Counter bool   // it only grows; otherwise it is a gauge
}

// KeyValue is a text as the value of a key in a bean's name: in quotes, as Java's ObjectName.quote writes them, if it has a sign that means
// something in names.
func KeyValue(text string) string {
	if !strings.ContainsAny(text, ",=:\"*?\n") {
		return text
	}
	return `"` + quotedValue.Replace(text) + `"`
}

var quotedValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `*`, `\*`, `?`, `\?`, "\n", `\n`)

// Metrics is a bean of Hadoop's kind.
func Metrics(service, record, context string, attributes ...Attribute) Bean {
	return Bean{Name: "Hadoop:service=" + service + ",name=" + record, Type: record,
		Attributes: append([]Attribute{{Name: "tag.Context", Value: context}}, attributes...)}
}

// Gauge is a value that rises and falls.
func Gauge(name string, value any, help string) Attribute {
	return Attribute{Name: name, Value: value, Help: help}
}

// Counter is a value that only grows.
func Counter(name string, value int64, help string) Attribute {
	return Attribute{Name: name, Value: value, Help: help, Counter: true}
}
