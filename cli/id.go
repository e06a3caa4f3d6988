package cli

import (
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// compat: what is not an identifier is reported with the class and the message
// of Hadoop's own parsers.

func parseApplication(s string) (yarn.ApplicationID, error) {
	id, err := yarn.ParseApplicationID(s)
	switch {
	case err == nil:
		return id, nil
	case !strings.HasPrefix(s, "application_"):
		return id, illegalArgument("Invalid ApplicationId prefix: %s. The valid ApplicationId should start with prefix application", s)
	}
	return id, illegalArgument("Invalid ApplicationId: %s", s)
}

func parseAttempt(s string) (yarn.AttemptID, error) {
	id, err := yarn.ParseAttemptID(s)
	switch {
	case err == nil:
		return id, nil
	case !strings.HasPrefix(s, "appattempt_"):
		return id, illegalArgument("Invalid AppAttemptId prefix: %s", s)
	}
	return id, illegalArgument("Invalid AppAttemptId: %s", s)
}

func parseContainer(s string) (yarn.ContainerID, error) {
	id, err := yarn.ParseContainerID(s)
	switch {
	case err == nil:
		return id, nil
	case !strings.HasPrefix(s, "container_"):
		return id, illegalArgument("Invalid ContainerId prefix: %s", s)
	}
	return id, illegalArgument("Invalid ContainerId: %s", s)
}

func parseNode(s string) (yarn.NodeID, error) {
	parts := strings.Split(strings.TrimRight(s, ":"), ":")
	if len(parts) != 2 {
		return yarn.NodeID{}, illegalArgument("Invalid NodeId [%s]. Expected host:port", s)
	}
	port, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return yarn.NodeID{}, illegalArgument("Invalid port: %s", parts[1])
	}
	return yarn.NodeID{Host: strings.TrimSpace(parts[0]), Port: int32(port)}, nil
}

// parseNumber reads a decimal number of so many bits.
func parseNumber(s string, bits int) (int64, error) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, javaError{"java.lang.NumberFormatException", "For input string: \"" + s + "\""}
	}
	return n, nil
}
