package plan

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/reserve"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

const head = `{"plan":1,"resource":{"memory-mb":10240,"vcores":10},"minimum-allocation":{"memory-mb":1024,"vcores":1},` +
	`"maximum-allocation":{"memory-mb":4096,"vcores":4},"calculator":"dominant","step":1000,"max-periodicity":24000,"agent":"greedy",` +
	`"favor-early":true,"smoothness":10,"policy":"capacity-over-time","window":20000,"average":100,"instantaneous":100,"enforcement-window":60000}` + "\n"

const two = `"arrival":0,"deadline":10000,"interpreter":"R_ALL","requests":[{"resource":{"memory-mb":1024,"vcores":1},"count":2,"concurrency":1,"duration":4000}]`

// play returns what the last of some events showed.
func play(t *testing.T, text string) (saw trace.Saw, err error) {
	t.Helper()
	r, err := trace.NewReader(strings.NewReader(text), "x")
	if err != nil {
		return nil, err
	}
	w, err := New(r.Plan())
	if err != nil {
		return nil, err
	}
	for {
		e, err := r.NextOfPlan()
		if errors.Is(err, io.EOF) {
			return saw, nil
		}
		if err != nil {
			return nil, err
		}
		if saw, err = w.Apply(e); err != nil {
			return nil, r.At(&e.Common, err)
		}
	}
}

func TestApply(t *testing.T) {
	submit := `{"do":"submit","now":-1,"id":1,"user":"ann",` + two + "}\n"
	for _, c := range []struct{ events, want string }{
		{submit, `"allocation":[[0,{"memory-mb":2048,"vcores":2}],[4000,{"memory-mb":0,"vcores":0}]]`},
		{submit + submit, `"same":true`},
		{submit + `{"do":"list","start":0,"end":-1}`, `{"ids":[1],"ok":true}`},
		{submit + `{"do":"list","start":5,"end":4}`, `"error":"YarnException"`},
		{submit + `{"do":"list","start":5,"end":9,"queue":"root.other"}`, `not managed by reservation system`},
		{submit + `{"do":"list","start":50000,"end":60000,"id":1}`, `{"ids":[1],"ok":true}`},
		{submit + `{"do":"delete","id":1}`, `{"ok":true}`},
		{submit + `{"do":"delete","id":1}` + "\n" + `{"do":"delete","id":1}`, `"error":"IllegalArgumentException"`},
		{`{"do":"delete","id":1}`, `is unknown`},
		{`{"do":"delete"}`, `Missing reservation id`},
		{`{"do":"update","id":3,"user":"ann",` + two + `}`, `"still":false`},
		{`{"do":"submit","id":1,"user":"ann","queue":"",` + two + `}`, `The queue is not specified`},
		{`{"do":"submit","id":1,"user":"ann","no-definition":true}`, `Missing reservation definition`},
		{submit + `{"do":"archive","now":29999}`, `{"left":[1],"ok":true,"removed":[]}`},
		{submit + `{"do":"archive","now":30000}`, `{"left":[],"ok":true,"removed":[1]}`},
		{submit + `{"do":"capacity","resource":{"memory-mb":1024,"vcores":10}}` + "\n" + `{"do":"replan","now":0}`, `"removed":[1]`},
		{submit + `{"do":"query","now":0,"user":"ann","start":1000,"end":9000}`,
			`{"active":[1],"at":{"1":{"memory-mb":2048,"vcores":2}},"available":[[1000,{"memory-mb":8192,"vcores":8}],[4000,{"memory-mb":10240,"vcores":10}],[9000,null]],` +
				`"capacity":{"memory-mb":10240,"vcores":10},"committed":[[0,{"memory-mb":2048,"vcores":2}],[4000,{"memory-mb":0,"vcores":0}]],"committed-at":{"memory-mb":2048,"vcores":2},` +
				`"count":[[0,1],[4000,0]],"last-end":4000,"overlapping":[1],"user":[[0,{"memory-mb":2048,"vcores":2}],[4000,{"memory-mb":0,"vcores":0}]]}`},
	} {
		saw, err := play(t, head+c.events)
		got, _ := json.Marshal(saw)
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %v, saw %s, want %s", c.events, err, got, c.want)
		}
	}
}

// TestBad: what cannot be played is an error that says where and why.
func TestBad(t *testing.T) {
	for text, want := range map[string]string{
		head + `{"do":"dance"}`: "x:2: event 1 (dance): no such event is known",
		head + `{"do":"submit","id":1,"interpreter":"R_SOME","requests":[]}`:                              `no interpreter is called "R_SOME"`,
		head + `{"do":"submit","id":1,"interpreter":"R_ALL","requests":[{"resource":{"yarn.io/gpu":1}}]}`: "memory-mb and vcores, not yarn.io/gpu",
		head + `{"do":"capacity","resource":{"gpu":1}}`:                                                   "not gpu",
		head + `{"do":"submit","color":1}`:                                                                `unknown field "color"`,
		`{"plan":2}`:                                                                                      "trace version 2, only 1",
		`{"plan":1,"trace":1}`:                                                                            `unknown field "trace"`,
		`{"plan":1,"step":"one"}`:                                                                         "cannot unmarshal",
		strings.Replace(head, "dominant", "fair", 1):                                                      `no calculator is called "fair"`,
		strings.Replace(head, "greedy", "lazy", 1):                                                        `no agent is called "lazy"`,
		strings.Replace(head, "capacity-over-time", "none", 1):                                            `no policy is called "none"`,
		strings.Replace(head, "vcores", "cores", 1):                                                       "not cores",
	} {
		if _, err := play(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// TestOrder: as two sorted maps of Java take up intervals that cannot be sorted.
func TestOrder(t *testing.T) {
	a := reserve.Interval{Start: -9223372036850580000, End: -9223372036850520000, Resource: yarn.NewResource(1, 1)}
	b, c := reserve.Interval{Start: a.End, End: 4_200_000}, reserve.Interval{Start: 4_200_000, End: 4_260_000}
	if got := inOrder(inOrder([]reserve.Interval{a, b, c})); got[0] != b || got[1] != c || got[2] != a {
		t.Errorf("got %v", got)
	}
}
