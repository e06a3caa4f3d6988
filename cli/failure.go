package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/client"
)

// Exit is an error that only carries an exit code: the messages have been
// printed.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// failed is -1 as a shell sees it.
const failed Exit = 255

// interrupted is what a shell shows for a command ended from the keyboard.
const interrupted Exit = 130

// javaError is a failure that Hadoop's tools report as an uncaught exception;
// scripts look for its class and message.
type javaError struct{ class, message string }

func (e javaError) Error() string { return e.class + ": " + e.message }

func illegalArgument(format string, args ...any) error {
	return javaError{"java.lang.IllegalArgumentException", fmt.Sprintf(format, args...)}
}

// report says what went wrong and returns the exit code.
func (c *call) report(err error) int {
	var exit Exit
	var java javaError
	var remote *client.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case c.ctx.Err() != nil:
		return int(interrupted)
	case errors.As(err, &java):
		fmt.Fprintf(c.Stderr, "Exception in thread \"main\" %s: %s\n", java.class, java.message)
	case errors.As(err, &remote):
		fmt.Fprintf(c.Stderr, "Exception in thread \"main\" %s: %s\n", remote.Class, c.shorten(remote.Message))
	default:
		what := "a class"
		if c.command != nil {
			what = c.command.name
		}
		fmt.Fprintf(c.Stderr, "yarn %s: %v\n", what, err)
	}
	return 1
}

// shorten drops a server's stack trace unless --loglevel asks for it.
func (c *call) shorten(message string) string {
	if c.debug() {
		return message
	}
	line, _, _ := strings.Cut(message, "\n")
	return line
}
