package rest

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// scalar is the text of a value that is neither a list nor an object; empty if there is none.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) == 0, string(b) == "null":
		*s = ""
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(s))
	case b[0] == '{', b[0] == '[':
		return &json.UnmarshalTypeError{Value: "a list or an object", Type: reflect.TypeFor[scalar]()}
	default:
		*s = scalar(b)
	}
	return nil
}

// integer reads a number of so many bits; without one it is unset.
func (s scalar) integer(what string, bits int, unset int64) (int64, error) {
	if s == "" {
		return unset, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(s)), 10, bits)
	if err != nil {
		return 0, badRequest("%s is %q: it must be an integer of %d bits", what, clipped(string(s)), bits)
	}
	return n, nil
}

func (s scalar) boolean(what string, unset bool) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(string(s))) {
	case "":
		return unset, nil
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, badRequest("%s is %q: it must be true or false", what, clipped(string(s)))
}

// bytes reads base64 in either alphabet, with padding or without.
func (s scalar) bytes() ([]byte, error) {
	text := strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "", " ", "", "\t", "").Replace(string(s))
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}
