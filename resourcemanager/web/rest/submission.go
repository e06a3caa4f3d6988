package rest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// submissionContextRoot is the root of a submission in XML. A JSON body has no root.
const submissionContextRoot = "application-submission-context"

// Bounds of a submission, whose size answer.MaxBody bounds.
const (
	maxSubmissionDepth = 16
	maxEntries         = 10_000 // of one map or list
)

// submissionBody is Hadoop's ApplicationSubmissionContextInfo. What it does not know is passed by, as Hadoop does.
type submissionBody struct {
	ID             scalar        `xml:"application-id" json:"application-id"`
	Name           scalar        `xml:"application-name" json:"application-name"`
	Queue          scalar        `xml:"queue" json:"queue"`
	Priority       scalar        `xml:"priority" json:"priority"`
	Container      containerBody `xml:"am-container-spec" json:"am-container-spec"`
	Unmanaged      scalar        `xml:"unmanaged-AM" json:"unmanaged-AM"`
	CancelTokens   scalar        `xml:"cancel-tokens-when-complete" json:"cancel-tokens-when-complete"`
	MaxAttempts    scalar        `xml:"max-app-attempts" json:"max-app-attempts"`
	Resource       sizeBody      `xml:"resource" json:"resource"`
	Type           scalar        `xml:"application-type" json:"application-type"`
	KeepContainers scalar        `xml:"keep-containers-across-application-attempts" json:"keep-containers-across-application-attempts"`
	Tags           struct {
		List oneOrMany[scalar] `xml:"tag" json:"tag"`
	} `xml:"application-tags" json:"application-tags"`
	Label            scalar    `xml:"app-node-label-expression" json:"app-node-label-expression"`
	AMLabel          scalar    `xml:"am-container-node-label-expression" json:"am-container-node-label-expression"`
	Logs             *logsBody `xml:"log-aggregation-context" json:"log-aggregation-context"`
	ValidityInterval scalar    `xml:"attempt-failures-validity-interval" json:"attempt-failures-validity-interval"`
	Reservation      scalar    `xml:"reservation-id" json:"reservation-id"`
}

// sizeBody is a container's size: MiB and vcores.
//
// compat: other resource types are passed by.
type sizeBody struct {
	Memory scalar `xml:"memory" json:"memory"`
	VCores scalar `xml:"vCores" json:"vCores"`
}

type containerBody struct {
	Resources   entries[resourceBody] `xml:"local-resources" json:"local-resources"`
	Environment entries[scalar]       `xml:"environment" json:"environment"`
	Commands    struct {
		List oneOrMany[scalar] `xml:"command" json:"command"`
	} `xml:"commands" json:"commands"`
	ServiceData entries[scalar] `xml:"service-data" json:"service-data"` // base64
	Credentials struct {
		Tokens  entries[scalar] `xml:"tokens" json:"tokens"`   // in URL form
		Secrets entries[scalar] `xml:"secrets" json:"secrets"` // base64
	} `xml:"credentials" json:"credentials"`
	ACLs entries[scalar] `xml:"application-acls" json:"application-acls"`
}

type resourceBody struct {
	URL        scalar `xml:"resource" json:"resource"`
	Type       scalar `xml:"type" json:"type"`
	Visibility scalar `xml:"visibility" json:"visibility"`
	Size       scalar `xml:"size" json:"size"`
	Timestamp  scalar `xml:"timestamp" json:"timestamp"`
	Pattern    scalar `xml:"pattern" json:"pattern"`
}

type logsBody struct {
	Include       scalar `xml:"log-include-pattern" json:"log-include-pattern"`
	Exclude       scalar `xml:"log-exclude-pattern" json:"log-exclude-pattern"`
	RolledInclude scalar `xml:"rolled-log-include-pattern" json:"rolled-log-include-pattern"`
	RolledExclude scalar `xml:"rolled-log-exclude-pattern" json:"rolled-log-exclude-pattern"`
	Policy        scalar `xml:"log-aggregation-policy-class-name" json:"log-aggregation-policy-class-name"`
	Parameters    scalar `xml:"log-aggregation-policy-parameters" json:"log-aggregation-policy-parameters"`
}

// entries are a map as Java's binding writes it.
type entries[V any] struct {
	List oneOrMany[struct {
		Key   scalar `xml:"key" json:"key"`
		Value V      `xml:"value" json:"value"`
	}] `xml:"entry" json:"entry"`
}

// clipped is a text of a caller, short enough for an answer.
func clipped(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// submissionOf reads a submission, JSON or XML.
func submissionOf(r *http.Request) (*submissionBody, error) {
	isXML, body, err := content(r)
	if err != nil {
		return nil, err
	}
	out := &submissionBody{}
	if isXML {
		if !plainXML(body, submissionContextRoot) || xml.Unmarshal(body, out) != nil {
			return nil, unreadableXML("")
		}
		return out, nil
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) || !json.Valid(body) || deeper(body, maxSubmissionDepth) {
		return nil, unreadable()
	}
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(body, out); {
	case errors.As(err, &wrong) && wrong.Offset == 0: // of a scalar
		return nil, badRequest("the submission cannot be read: it has a list or an object where a text belongs")
	case errors.As(err, &wrong):
		return nil, badRequest("the submission cannot be read: %s at byte %d does not belong there", wrong.Value, wrong.Offset)
	case err != nil:
		return nil, unreadable()
	}
	return out, nil
}

// plainXML tells whether a document has that root, ends where its root does, is not deep, and declares nothing: no document
// type, hence no entities of its own.
func plainXML(body []byte, root string) bool {
	d, depth, roots := xml.NewDecoder(bytes.NewReader(body)), 0, 0
	for {
		t, err := d.RawToken()
		if err != nil {
			return errors.Is(err, io.EOF) && depth == 0 && roots == 1
		}
		switch t := t.(type) {
		case xml.Directive:
			return false
		case xml.StartElement:
			if depth == 0 {
				roots++
			}
			if depth++; depth > maxSubmissionDepth || depth == 1 && t.Name.Local != root {
				return false
			}
		case xml.EndElement:
			depth--
		}
	}
}

// deeper tells whether valid JSON is nested deeper than most.
func deeper(body []byte, most int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// context is the submission context that the body describes, as a client of the protocol would send it.
func (b *submissionBody) context(id yarn.ApplicationID, types yarn.ResourceTypes, most yarn.Resource) (*pb.ApplicationSubmissionContext, error) {
	var p fieldParser
	m := &pb.ApplicationSubmissionContext{
		ApplicationId: convert.ToApplicationID(id), ApplicationName: (*string)(&b.Name), ApplicationType: (*string)(&b.Type),
		Priority:                                convert.ToPriority(int32(p.integer(b.Priority, "priority", 32, -1))), // compat: -1 is shown then
		UnmanagedAm:                             proto.Bool(p.boolean(b.Unmanaged, "unmanaged-AM", false)),
		CancelTokensWhenComplete:                proto.Bool(p.boolean(b.CancelTokens, "cancel-tokens-when-complete", true)),
		MaxAppAttempts:                          proto.Int32(int32(p.integer(b.MaxAttempts, "max-app-attempts", 32, 0))),
		KeepContainersAcrossApplicationAttempts: proto.Bool(p.boolean(b.KeepContainers, "keep-containers-across-application-attempts", false)),
		AttemptFailuresValidityInterval:         proto.Int64(p.integer(b.ValidityInterval, "attempt-failures-validity-interval", 64, -1)),
		NodeLabelExpression:                     (*string)(&b.Label), LogAggregationContext: b.Logs.context(),
	}
	if b.Queue != "" {
		m.Queue = (*string)(&b.Queue)
	}
	memory, vcores := p.integer(b.Resource.Memory, "memory", 64, 0), p.integer(b.Resource.VCores, "vCores", 32, 0)
	switch {
	case p.err != nil:
		return nil, p.err
	case vcores > most.VCoreCount():
		return nil, badRequest("Requested more cores than configured max") // compat: both texts
	case memory > most.MemoryMB():
		return nil, badRequest("Requested more memory than configured max")
	case len(b.Tags.List) > maxEntries:
		return nil, overlong("application-tags", len(b.Tags.List))
	}
	for _, t := range b.Tags.List {
		m.ApplicationTags = append(m.ApplicationTags, string(t))
	}
	if b.Reservation != "" {
		reservation, err := yarn.ParseReservationID(string(b.Reservation))
		if err != nil {
			return nil, badRequest("reservation-id: %v", err)
		}
		m.ReservationId = convert.ToReservationID(reservation)
	}
	m.Resource = convert.ToResource(yarn.NewResource(memory, vcores), types)
	m.AmContainerResourceRequest = []*pb.ResourceRequest{{Priority: convert.ToPriority(0), ResourceName: proto.String(yarn.AnyHost), Capability: m.Resource,
		NumContainers: proto.Int32(1), RelaxLocality: proto.Bool(true), NodeLabelExpression: (*string)(&b.AMLabel)}}
	var err error
	m.AmContainerSpec, err = b.Container.context()
	return m, err
}

// fieldParser reads fields and keeps the first error.
type fieldParser struct{ err error }

func (p *fieldParser) integer(s scalar, what string, bits int, unset int64) int64 {
	n, err := s.integer(what, bits, unset)
	if p.err == nil {
		p.err = err
	}
	return n
}

func (p *fieldParser) boolean(s scalar, what string, unset bool) bool {
	v, err := s.boolean(what, unset)
	if p.err == nil {
		p.err = err
	}
	return v
}

func overlong(what string, n int) error {
	return badRequest("%s has %d entries, at most %d are taken", what, n, maxEntries)
}

// context are the patterns that are given; the others have the defaults of those who read them.
func (l *logsBody) context() *pb.LogAggregationContext {
	if l == nil {
		return nil
	}
	given := func(s scalar) *string {
		if s == "" {
			return nil
		}
		return proto.String(string(s))
	}
	return &pb.LogAggregationContext{IncludePattern: given(l.Include), ExcludePattern: given(l.Exclude), RolledLogsIncludePattern: given(l.RolledInclude),
		RolledLogsExcludePattern: given(l.RolledExclude), LogAggregationPolicyClassName: given(l.Policy), LogAggregationPolicyParameters: given(l.Parameters)}
}

// check fails for a map that is too long, or has entries without keys.
func (e *entries[V]) check(what string) error {
	if len(e.List) > maxEntries {
		return overlong(what, len(e.List))
	}
	for i := range e.List {
		if e.List[i].Key == "" {
			return badRequest("entry %d of %s has no key", i+1, what)
		}
	}
	return nil
}

func (b *containerBody) context() (*pb.ContainerLaunchContext, error) {
	if err := errors.Join(b.Resources.check("local-resources"), b.Environment.check("environment"), b.ServiceData.check("service-data"),
		b.Credentials.Tokens.check("tokens"), b.Credentials.Secrets.check("secrets"), b.ACLs.check("application-acls")); err != nil {
		return nil, badRequest("%v", err)
	}
	if len(b.Commands.List) > maxEntries {
		return nil, overlong("commands", len(b.Commands.List))
	}
	m := &pb.ContainerLaunchContext{}
	for i := range b.Resources.List {
		e := &b.Resources.List[i]
		r, err := e.Value.resource()
		if err != nil {
			return nil, badRequest("local resource %q: %v", clipped(string(e.Key)), err)
		}
		m.LocalResources = append(m.LocalResources, &pb.StringLocalResourceMap{Key: (*string)(&e.Key), Value: r})
	}
	for i := range b.Environment.List {
		e := &b.Environment.List[i]
		m.Environment = append(m.Environment, &pb.StringStringMap{Key: (*string)(&e.Key), Value: (*string)(&e.Value)})
	}
	for _, c := range b.Commands.List {
		m.Command = append(m.Command, string(c))
	}
	for i := range b.ServiceData.List {
		e := &b.ServiceData.List[i]
		if e.Value == "" {
			continue
		}
		data, err := e.Value.bytes()
		if err != nil {
			return nil, badRequest("service-data %q is not base64: %v", clipped(string(e.Key)), err)
		}
		m.ServiceData = append(m.ServiceData, &pb.StringBytesMap{Key: (*string)(&e.Key), Value: data})
	}
	for i := range b.ACLs.List {
		e := &b.ACLs.List[i]
		kind, ok := pb.ApplicationAccessType_value["APPACCESS_"+string(e.Key)]
		if !ok {
			return nil, badRequest("application-acls: %q is neither VIEW_APP nor MODIFY_APP", clipped(string(e.Key)))
		}
		m.Application_ACLs = append(m.Application_ACLs, &pb.ApplicationACLMap{AccessType: pb.ApplicationAccessType(kind).Enum(), Acl: (*string)(&e.Value)})
	}
	credentials, err := b.credentials()
	if err != nil {
		return nil, badRequest("Could not parse credentials data; exception message = %v", err) // compat: Apache's beginning
	}
	m.Tokens = credentials.Append(nil)
	return m, nil
}

// credentials are the tokens and secrets. No error has a secret in it.
func (b *containerBody) credentials() (token.Credentials, error) {
	var out token.Credentials
	for _, e := range b.Credentials.Tokens.List {
		raw, err := e.Value.bytes()
		if err != nil {
			return out, fmt.Errorf("token %q is not base64", clipped(string(e.Key)))
		}
		t, _, err := token.Parse(raw)
		if err != nil {
			return out, fmt.Errorf("token %q: %w", clipped(string(e.Key)), err)
		}
		out.SetToken(string(e.Key), t)
	}
	for _, e := range b.Credentials.Secrets.List {
		raw, err := e.Value.bytes()
		if err != nil {
			return out, fmt.Errorf("secret %q is not base64", clipped(string(e.Key)))
		}
		out.SetSecret(string(e.Key), raw)
	}
	return out, nil
}

func (b *resourceBody) resource() (*pb.LocalResource, error) {
	var p fieldParser
	m := &pb.LocalResource{Size: proto.Int64(p.integer(b.Size, "size", 64, 0)), Timestamp: proto.Int64(p.integer(b.Timestamp, "timestamp", 64, 0))}
	kind, known := pb.LocalResourceType_value[string(b.Type)]
	visibility, visible := pb.LocalResourceVisibility_value[string(b.Visibility)]
	u, err := url.Parse(string(b.URL))
	switch {
	case p.err != nil:
		return nil, p.err
	case b.URL == "" || err != nil || u.Opaque != "":
		return nil, fmt.Errorf("resource is %q: it must be a URL like hdfs://host:port/path", clipped(string(b.URL)))
	case !known:
		return nil, fmt.Errorf("type is %q: it must be ARCHIVE, FILE or PATTERN", clipped(string(b.Type)))
	case !visible:
		return nil, fmt.Errorf("visibility is %q: it must be PUBLIC, PRIVATE or APPLICATION", clipped(string(b.Visibility)))
	}
	m.Type, m.Visibility = pb.LocalResourceType(kind).Enum(), pb.LocalResourceVisibility(visibility).Enum()
	m.Resource = &pb.URL{Port: proto.Int32(-1), File: proto.String(u.Path)}
	if u.Scheme != "" {
		m.Resource.Scheme = &u.Scheme
	}
	if host := u.Hostname(); host != "" {
		m.Resource.Host = &host
	}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("the port of %q is none", clipped(string(b.URL)))
		}
		m.Resource.Port = proto.Int32(int32(port))
	}
	if u.User != nil {
		who := u.User.Username()
		if password, set := u.User.Password(); set {
			who += ":" + password
		}
		m.Resource.UserInfo = &who
	}
	if b.Pattern != "" {
		m.Pattern = (*string)(&b.Pattern)
	}
	return m, nil
}

// submissionsOff is the answer if yarn.webapp.enable-rest-app-submissions is false.
func submissionsOff() *answer.Response {
	return &answer.Response{Status: http.StatusForbidden, Text: "App submission via REST is disabled."}
}

// submit submits an application under an id that newApplication gave. It is answered when that is stored.
func (s *server) submit(r *http.Request) (*answer.Response, error) {
	if s.SubmissionsOff {
		return submissionsOff(), nil
	}
	body, err := submissionOf(r)
	if err != nil {
		return nil, err
	}
	id, err := yarn.ParseApplicationID(string(body.ID))
	if err != nil {
		return nil, badRequest("Could not parse application id %s", clipped(string(body.ID)))
	}
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	m, err := body.context(id, c.ResourceTypes, s.Largest)
	if err != nil {
		return nil, err
	}
	raw, err := proto.Marshal(m)
	if err != nil { // a text that is not UTF-8
		return nil, badRequest("the submission of %s cannot be encoded: %v", id, err)
	}
	if err := s.Controller.Submit(r.Context(), webgate.From(r.Context()), raw); err != nil {
		return nil, err
	}
	return &answer.Response{Status: http.StatusAccepted, Location: here(r, s.Links.Scheme) + "/" + id.String()}, nil
}
