package client

import (
	"fmt"
	"io"
	"os"

	"github.com/heddle-project/heddle/wire/token"
)

// CredentialsVariable names, in a container's environment, the file with its
// tokens and secrets.
const CredentialsVariable = "HADOOP_TOKEN_FILE_LOCATION"

// ReadCredentials reads the credentials that a container was started with;
// lookup finds variables of its environment.
func ReadCredentials(lookup func(string) (string, bool)) (token.Credentials, error) {
	path, ok := lookup(CredentialsVariable)
	if !ok || path == "" {
		return token.Credentials{}, fmt.Errorf("reading credentials: %s is not set, so this is not a container's process", CredentialsVariable)
	}
	f, err := os.Open(path)
	if err != nil {
		return token.Credentials{}, fmt.Errorf("reading credentials: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, token.MaxCredentials+1))
	if err != nil {
		return token.Credentials{}, fmt.Errorf("reading credentials: %w", err)
	}
	c, err := token.ParseCredentials(b)
	if err != nil {
		return token.Credentials{}, fmt.Errorf("reading credentials from %s: %w", path, err)
	}
	return c, nil
}
