package yarn

import "fmt"

// MaxLabelName bounds the bytes of a label's name.
const MaxLabelName = 255

// CheckLabel tells why a text cannot be the name of a label, in Apache's words.
func CheckLabel(name string) error {
	if name == "" || len(name) > MaxLabelName {
		return fmt.Errorf("label added is empty or exceeds %d character(s)", MaxLabelName)
	}
	for i, c := range []byte(name) {
		letter := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && c != '_') {
			return fmt.Errorf("label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= %s", name)
		}
	}
	return nil
}
