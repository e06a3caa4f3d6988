package ui

import (
	"net/url"
	"strconv"
)

// How many rows one page has at most.
const (
	rowsPerPage = 100
	maxPage     = 1_000_000
)

// paging is the part of a list that a page shows.
type paging struct {
	Page, Pages, Total int
	From, To           int // 0 ≤ From ≤ To ≤ Total
	Previous, Next     string
}

// First is the number of the first row, counted from 1.
func (p paging) First() int { return p.From + 1 }

// pageOf reads the parameter "page", counted from 1. An invalid one is the first page,
// one that is too large the last.
func pageOf(path string, q url.Values, total int) paging {
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil || n < 1 || n > maxPage {
		n = 1
	}
	p := paging{Total: total, Pages: max((total+rowsPerPage-1)/rowsPerPage, 1)}
	p.Page = min(n, p.Pages)
	p.From = (p.Page - 1) * rowsPerPage
	p.To = min(p.From+rowsPerPage, total)
	if p.Page > 1 {
		p.Previous = withPage(path, q, p.Page-1)
	}
	if p.Page < p.Pages {
		p.Next = withPage(path, q, p.Page+1)
	}
	return p
}

// withPage is the address of another page of the same list.
func withPage(path string, q url.Values, n int) string {
	out := chosen(q)
	out.Set("page", strconv.Itoa(n))
	return path + "?" + out.Encode()
}

// chosen are the parameters that decide what is in a list and in which order.
func chosen(q url.Values) url.Values {
	out := url.Values{}
	for _, name := range []string{"user", "queue", "name", "sort", "order"} {
		if v := q.Get(name); v != "" {
			out.Set(name, v)
		}
	}
	if q.Has("node.label") { // without a value: the default partition
		out.Set("node.label", q.Get("node.label"))
	}
	return out
}
