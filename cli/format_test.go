package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/client"
)

func TestNumbersAreJavas(t *testing.T) {
	for got, want := range map[string]string{
		percent(0): "0%", percent(0.5): "50%", percent(1): "100%", percent(0.005): "0.5%", percent(0.12345): "12.35%", percent(1.0 / 3): "33.33%",
		share(0): ".00%", share(0.7): "70.00%", share(0.005): ".50%", share(0.95): "95.00%", share(0.4018): "40.18%", share(-0.001): "-.10%",
		twoPlaces(-1): "-1.00", decimal(0.5, 1, 2, 2): "0.50", decimal(2.125, 1, 0, 2): "2.12", decimal(2.375, 1, 0, 2): "2.38",
		decimal(math.NaN(), 1, 0, 2): "NaN", decimal(math.Inf(-1), 1, 0, 2): "-∞", decimal(math.Inf(1), 1, 0, 2): "∞",
		float(0): "0.0", float(1): "1.0", float(1.9826725): "1.9826725", float(0.006): "0.006", float(1e7): "1.0E7", float(1.5e-5): "1.5E-5",
		float(float32(math.NaN())): "NaN", float(float32(math.Inf(1))): "Infinity", float(float32(math.Inf(-1))): "-Infinity",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTimesAreJavas(t *testing.T) {
	e := &Env{Zone: time.UTC}
	const ms = 1795306209091 // 22 November 2026, 00:10:09.091
	for got, want := range map[string]string{
		e.longTime(ms): "Sun Nov 22 00:10:09 +0000 2026", e.longTime(0): "N/A", e.isoTime(ms): "2026-11-22T00:10:09.091+0000",
		e.healthTime(ms): "Sun 22/Nov/26 12:10:09:91UTC", e.healthTime(ms - 89): "Sun 22/Nov/26 12:10:09:02UTC",
		e.healthTime(ms + 12*3600*1000 + 900): "Sun 22/Nov/26 12:10:09:991UTC",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	e.Zone = time.FixedZone("CET", 3600)
	if got := e.longTime(ms); got != "Sun Nov 22 01:10:09 +0100 2026" {
		t.Error(got)
	}
}

// The orders were printed by Java 17.
func TestHashOrder(t *testing.T) {
	for from, want := range map[string]string{
		"YARN MAPREDUCE SPARK TEZ":      "TEZ SPARK MAPREDUCE YARN",
		"a bb ccc":                      "bb a ccc",
		"memory-mb yarn.io/gpu licence": "licence memory-mb yarn.io/gpu",
		"a a b":                         "a b",
		"m01 m02 m03 m04 m05 m06 m07 m08 m09 m10 m11 m12 m13 m14": "m11 m10 m02 m13 m01 m12 m04 m03 m14 m06 m05 m08 m07 m09",
	} {
		if got := strings.Join(hashOrder(strings.Fields(from)), " "); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func TestResources(t *testing.T) {
	r := client.Resource{MemoryMB: 4096, VCores: 4, Others: []client.Amount{{Name: "licence", Value: 5}, {Name: "none"}, {Name: "disk", Value: 2, Units: "Gi"}}}
	if got := resource(r); got != "<memory:4096, vCores:4, licence: 5, disk: 2Gi>" {
		t.Error(got)
	}
	if got := resourceSeconds(nil); got != "0 MB-seconds, 0 vcore-seconds" {
		t.Error(got)
	}
}

func TestDocumentsKeepTheirOrder(t *testing.T) {
	var b strings.Builder
	c := &call{Env: &Env{Stdout: &b}}
	err := c.writeDocument("thing", document{{"z", 1}, {"a", []string{}}, {"n", (*string)(nil)}, {"o", document{{"y", "é\n"}, {"b", true}}}})
	want := `{
  "schema": "yarn.cli/1",
  "kind": "thing",
  "z": 1,
  "a": [],
  "n": null,
  "o": {
    "y": "é\n",
    "b": true
  }
}
`
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}
