package ui

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"strings"
)

// column is a column by which a list can be sorted.
type column[R any] struct {
	key   string        // in the address
	title template.HTML // in the heading, with soft hyphens where long words may break
	value func(R) sortValue
}

// sortValue is what a row is sorted by: a number, and a text among equal numbers.
type sortValue struct {
	number float64
	text   string
}

func (v sortValue) compare(w sortValue) int {
	return cmp.Or(cmp.Compare(v.number, w.number), cmp.Compare(v.text, w.text))
}

// byText sorts by a text without regard to case.
func byText[R any](text func(R) string) func(R) sortValue {
	return func(row R) sortValue { return sortValue{text: strings.ToLower(text(row))} }
}

func byNumber[R any, N int | int32 | int64 | float32](number func(R) N) func(R) sortValue {
	return func(row R) sortValue { return sortValue{number: float64(number(row))} }
}

// heading is the heading of a column, with the address of the list sorted by it.
type heading struct {
	Title template.HTML
	Link  string
	Order string // "ascending" or "descending" if the list is sorted by it
}

// arrange sorts the rows by the column that the parameter "sort" names, in descending
// order if "order" is desc, and returns the headings. Equal rows keep their order; all
// rows do if there is no column of that name.
func arrange[R any](columns []column[R], rows []R, path string, q url.Values) []heading {
	down := q.Get("order") == "desc"
	heads := make([]heading, 0, len(columns))
	for _, c := range columns {
		h := heading{Title: c.title, Link: ordered(path, q, c.key, false)}
		if c.key == q.Get("sort") {
			h.Order = "ascending"
			if down {
				h.Order = "descending"
			} else {
				h.Link = ordered(path, q, c.key, true)
			}
			order(rows, c.value, down)
		}
		heads = append(heads, h)
	}
	return heads
}

// order sorts the rows. It computes the value of each row once, for there may be many.
func order[R any](rows []R, value func(R) sortValue, down bool) {
	type keyed struct {
		row   R
		value sortValue
	}
	list := make([]keyed, len(rows))
	for i, row := range rows {
		list[i] = keyed{row, value(row)}
	}
	slices.SortStableFunc(list, func(a, b keyed) int {
		if down {
			a, b = b, a
		}
		return a.value.compare(b.value)
	})
	for i := range list {
		rows[i] = list[i].row
	}
}

// ordered is the address of the first page of a list sorted by a column.
func ordered(path string, q url.Values, key string, down bool) string {
	out := chosen(q)
	out.Set("sort", key)
	out.Del("order")
	if down {
		out.Set("order", "desc")
	}
	return path + "?" + out.Encode()
}
