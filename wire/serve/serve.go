// Package serve holds what the methods of all protocols share: reading a request, writing an answer or an exception, and the
// names of YARN's exceptions.
package serve

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// MaxDepth bounds the nesting of a request's messages, as Java's protobuf does.
const MaxDepth = 100

var (
	unmarshal = proto.UnmarshalOptions{RecursionLimit: MaxDepth, AllowPartial: false}
	marshal   = proto.MarshalOptions{UseCachedSize: true} // Size comes first everywhere
)

// Warm has the protobuf runtime read the descriptions of messages now, which it does at the first use of one and which takes a while.
func Warm() {
	for _, m := range []proto.Message{&pb.GetClusterMetricsResponse{}, &pb.NodeHeartbeatResponse{}} {
		_ = proto.Size(m)
	}
}

// Unmarshal reads a message with the same bounds as a request.
func Unmarshal(b []byte, m proto.Message) error { return unmarshal.Unmarshal(b, m) }

// Decode reads the request of a call. If that fails it answers the call with
// the error and returns false.
func Decode(c *ipc.Call, m proto.Message) bool {
	if err := unmarshal.Unmarshal(c.Body, m); err != nil {
		c.Fail(&ipc.RemoteError{Class: ipc.ClassServer, Message: fmt.Sprintf("cannot read the request of %s: %v", c.Method, err)})
		return false
	}
	return true
}

// Answer writes the answer of a call.
func Answer(c *ipc.Call, m proto.Message) {
	b, err := marshal.MarshalAppend(make([]byte, 0, marshal.Size(m)), m)
	if err != nil {
		cannotWrite(c, err)
		return
	}
	c.Reply(b)
}

func cannotWrite(c *ipc.Call, err error) {
	c.Fail(&ipc.RemoteError{Class: ipc.ClassServer, Message: fmt.Sprintf("cannot write the answer of %s: %v", c.Method, err)})
}

// List writes an answer of repeated messages one at a time, so that only one of
// them has to be in memory.
type List struct {
	call *ipc.Call
	out  *ipc.Answer
	err  error
	made int // bytes built since other goroutines could run
}

// atOnce is how many bytes of a list are built before other goroutines may run, so that long lists do not delay the daemon's
// other work.
const atOnce = 16 << 10

// NewList begins the answer of a call; Send ends it.
func NewList(c *ipc.Call) *List { return &List{call: c, out: c.Answer()} }

// Add appends a message as the field of that number. It returns false when
// further messages are useless.
func (l *List) Add(number protowire.Number, m proto.Message) bool {
	return l.Append(func(b []byte) []byte {
		size := marshal.Size(m)
		b = protowire.AppendTag(b, number, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(size))
		out, err := marshal.MarshalAppend(b, m)
		if err != nil {
			l.err = err
			return b
		}
		return out
	})
}

// Append appends what the function appends to the bytes that it is given. It returns false when further messages are useless.
func (l *List) Append(write func([]byte) []byte) bool {
	if l.made >= atOnce {
		l.made = 0
		runtime.Gosched()
	}
	more := l.out.Append(func(b []byte) []byte {
		before := len(b)
		b = write(b)
		l.made += len(b) - before
		return b
	})
	return more && l.err == nil
}

// Send answers the call.
func (l *List) Send() {
	if l.err != nil {
		l.out.Drop()
		cannotWrite(l.call, l.err)
		return
	}
	l.out.Send()
}

// With makes a handler of a protocol's method: it decodes the request into the
// message that fresh returns and passes it to handle.
func With[M proto.Message](fresh func() M, handle func(*ipc.Call, M)) ipc.Handler {
	return func(c *ipc.Call) {
		if m := fresh(); Decode(c, m) {
			c.Forget() // the message does not refer to the request's memory
			handle(c, m)
		}
	}
}

// The Java class names of YARN's exceptions.
const (
	exceptions = "org.apache.hadoop.yarn.exceptions."

	YarnException        = exceptions + "YarnException"
	ApplicationNotFound  = exceptions + "ApplicationNotFoundException"
	AttemptNotFound      = exceptions + "ApplicationAttemptNotFoundException"
	ContainerNotFound    = exceptions + "ContainerNotFoundException"
	NotRegistered        = exceptions + "ApplicationMasterNotRegisteredException"
	InvalidMasterRequest = exceptions + "InvalidApplicationMasterRequestException"
	InvalidResource      = exceptions + "InvalidResourceRequestException"
	InvalidLabel         = exceptions + "InvalidLabelResourceRequestException"
	InvalidBlacklist     = exceptions + "InvalidResourceBlacklistRequestException"
	InvalidRelease       = exceptions + "InvalidContainerReleaseException"
	IllegalArgument      = "java.lang.IllegalArgumentException"
	Arithmetic           = "java.lang.ArithmeticException"
	FeatureNotEnabled    = exceptions + "YARNFeatureNotEnabledException"
	IDNotProvided        = exceptions + "ApplicationIdNotProvidedException"
	NotYetReady          = exceptions + "NMNotYetReadyException"
	InvalidContainer     = exceptions + "InvalidContainerException"
	InvalidAuxService    = exceptions + "InvalidAuxServiceException"
)

// Refuse answers a call with a YARN exception.
func Refuse(c *ipc.Call, class, format string, args ...any) {
	c.Fail(&ipc.RemoteError{Class: class, Message: fmt.Sprintf(format, args...)})
}

// Deny answers a call that its caller has no right to make. Hadoop wraps the
// security exception, and clients look for its name in the text.
func Deny(c *ipc.Call, format string, args ...any) {
	Refuse(c, YarnException, ipc.ClassAccessControl+": "+format, args...)
}

// Wrap answers a call with a YARN exception around another: YARN's services declare no other class, so that is the one that stock
// clients catch. Its text begins with the class that it wraps.
func Wrap(c *ipc.Call, err error) {
	var remote *ipc.RemoteError
	if errors.As(err, &remote) && !strings.HasPrefix(remote.Class, exceptions) {
		err = &ipc.RemoteError{Class: YarnException, Message: remote.Class + ": " + remote.Message}
	}
	c.Fail(err)
}

// Missing is the handler of a method that Hadoop has and Heddle does not have yet.
func Missing(what string) ipc.Handler {
	return func(c *ipc.Call) {
		Refuse(c, YarnException, "%s is not available: Heddle does not have %s yet", c.Method, what)
	}
}
