package logserver

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	"github.com/heddle-project/heddle/internal/aggregated"
)

// forever is beyond the end of every file and of every time.
const forever = math.MaxInt64

// number reads a whole number; without a text it is def.
func number(text string, def int64) (int64, error) {
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("is not a whole number: %.40q", text)
	}
	return n, nil
}

// files calls visit for the log files of that name, or for all if it is empty, of a container.
func (s *server) files(r *http.Request, q question, name string, visit func(aggregated.NodeLogs, aggregated.File, *aggregated.Reader) error) error {
	count := 0
	return s.each(r, q, func(n aggregated.NodeLogs, _ string, file *aggregated.Reader) error {
		for ; count < maxFiles; count++ {
			f, err := file.NextFile()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if name != "" && f.Name != name {
				continue
			}
			if err := visit(n, f, file); err != nil {
				return err
			}
		}
		return errEnough
	})
}

// part writes so many bytes of the log file at hand, after so many others, between two texts. What the
// file lacks is passed over; errors of writing are those of a caller who has left.
func part(file *aggregated.Reader, skip, length int64, w io.Writer, before, after string) error {
	if _, err := io.WriteString(w, before); err != nil {
		return visiting{err}
	}
	err := file.Skip(skip)
	if err == nil {
		var wrong error
		if wrong, err = aggregated.Copy(w, file, length); wrong != nil {
			return visiting{wrong}
		}
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return visiting{err} // it ends the answer, whose beginning is out
	}
	if _, err := io.WriteString(w, after); err != nil {
		return visiting{err}
	}
	return nil
}

// section is the part from start to end of a file; negative numbers count from its end, and what lies
// outside of the file is cut.
func section(size, start, end int64) (skip, length int64) {
	place := func(n int64) int64 {
		if n < 0 {
			n = max(n, -size) + size
		}
		return min(n, size)
	}
	skip = place(start)
	return skip, max(place(end)-skip, 0)
}
