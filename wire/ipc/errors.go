package ipc

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrorDetail is RpcResponseHeaderProto.RpcErrorCodeProto.
type ErrorDetail int32

const (
	ErrorApplication         ErrorDetail = 1
	ErrorNoSuchMethod        ErrorDetail = 2
	ErrorNoSuchProtocol      ErrorDetail = 3
	ErrorRPCServer           ErrorDetail = 4
	ErrorSerializingResponse ErrorDetail = 5
	ErrorVersionMismatch     ErrorDetail = 6
	FatalUnknown             ErrorDetail = 10
	FatalInvalidHeader       ErrorDetail = 12
	FatalDeserializing       ErrorDetail = 13
	FatalVersionMismatch     ErrorDetail = 14
	FatalUnauthorized        ErrorDetail = 15
)

// Java's binary names of the exceptions that the protocol itself raises.
const (
	ClassIOException     = "java.io.IOException"
	ClassRuntime         = "java.lang.RuntimeException"
	ClassUnsupported     = "java.lang.UnsupportedOperationException"
	ClassAccessControl   = "org.apache.hadoop.security.AccessControlException"
	ClassAuthorization   = "org.apache.hadoop.security.authorize.AuthorizationException"
	ClassInvalidToken    = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	ClassSASL            = "javax.security.sasl.SaslException"
	ClassStandby         = "org.apache.hadoop.ipc.StandbyException"
	ClassRetriable       = "org.apache.hadoop.ipc.RetriableException"
	ClassServer          = "org.apache.hadoop.ipc.RpcServerException"
	ClassIPC             = "org.apache.hadoop.ipc.IpcException"
	ClassNoSuchMethod    = "org.apache.hadoop.ipc.RpcNoSuchMethodException"
	ClassNoSuchProtocol  = "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
	ClassVersionMismatch = "org.apache.hadoop.ipc.RPC$VersionMismatch"
)

// maxErrorText bounds the bytes of an exception's message on the wire.
const maxErrorText = 64 << 10

// RemoteError is an exception that crosses the wire. A server answers it with
// [Call.Fail]; a client's call returns it.
type RemoteError struct {
	Class   string // Java binary name, inner classes with $
	Message string // first line is the message; a Java server appends a stack trace
	Fatal   bool   // the connection ends after it
	Detail  ErrorDetail
}

// Error is the class and the first line of the message.
func (e *RemoteError) Error() string {
	line, _, _ := strings.Cut(e.Message, "\n")
	if line == "" {
		return e.Class
	}
	return e.Class + ": " + line
}

func (e *RemoteError) detail() ErrorDetail {
	switch {
	case e.Detail != 0:
		return e.Detail
	case e.Fatal:
		return FatalUnknown
	}
	return ErrorApplication
}

// remote turns any error into what is sent for it: a RemoteError as it is,
// anything else as a java.io.IOException with its text.
func remote(err error) *RemoteError {
	var r *RemoteError
	if errors.As(err, &r) && r != nil {
		return r
	}
	if err == nil {
		return &RemoteError{Class: ClassRuntime, Message: "call failed without a reason"}
	}
	return &RemoteError{Class: ClassIOException, Message: err.Error()}
}

// fatalAs is err as an answer that ends the connection.
func fatalAs(err error, detail ErrorDetail) *RemoteError {
	r := *remote(err)
	r.Fatal, r.Detail = true, detail
	return &r
}

func fatal(class string, detail ErrorDetail, message string) *RemoteError {
	return &RemoteError{Class: class, Message: message, Fatal: true, Detail: detail}
}

// clip shortens s to at most n bytes without splitting a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
