package client

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Submission is an application to run.
type Submission struct {
	ID              yarn.ApplicationID // from NewApplication
	Name            string             // "N/A" when empty
	Type            string             // "YARN" when empty
	Queue           string             // "default" when empty
	Tags            []string
	Priority        int32
	Master          Resource // of the master's container
	Launch          Launch
	Unmanaged       bool  // the master runs outside the cluster
	MaxAttempts     int32 // 0: the cluster's maximum
	KeepContainers  bool  // across attempts
	NodeLabel       string
	LifetimeSeconds int64 // 0: none
}

// Launch is how a container starts.
type Launch struct {
	Commands    []string
	Environment map[string]string
	Tokens      []byte               // a credentials file's content
	Resources   map[string]File      // by the name of the link in the work directory
	ServiceData map[string][]byte    // by auxiliary service
	ACLs        map[AppAccess]string // users and groups
}

// File is something to be copied to the container's node.
type File struct {
	Scheme, Host, Path string
	Port               int32
	Size, Timestamp    int64 // bytes; milliseconds since 1970: both must match the file
	Type               FileType
	Visibility         Visibility
}

// FileType says whether a file is unpacked.
type FileType int32

// The types of files.
const (
	Archive FileType = iota + 1
	PlainFile
	Pattern
)

// Visibility says who shares the copy of a file on a node.
type Visibility int32

// Who shares it.
const (
	Public Visibility = iota + 1
	Private
	ApplicationOnly
)

// AppAccess is what a user may do with another's application.
type AppAccess int32

// The kinds of access.
const (
	ViewApp AppAccess = iota + 1
	ModifyApp
)

// Submit hands an application over and returns when the ResourceManager has
// stored it: its state is then ACCEPTED or later.
func (c *Client) Submit(ctx context.Context, s Submission) error {
	in := &pb.SubmitApplicationRequest{ApplicationSubmissionContext: toSubmission(s)}
	if err := c.user(ctx, "submitApplication", in, &pb.SubmitApplicationResponse{}); err != nil {
		return err
	}
	return c.poll(ctx, fmt.Sprintf("application %s to be accepted", s.ID), func() (bool, error) {
		a, err := c.Application(ctx, s.ID)
		if Is(err, ClassApplicationNotFound) {
			// A ResourceManager that took over may not have the record: hand
			// it over again under the same id.
			return false, c.user(ctx, "submitApplication", in, &pb.SubmitApplicationResponse{})
		}
		if err != nil {
			return false, err
		}
		return a.State > yarn.PublicSubmitted, nil
	})
}

func toSubmission(s Submission) *pb.ApplicationSubmissionContext {
	m := &pb.ApplicationSubmissionContext{
		ApplicationId: toApplicationID(s.ID), ApplicationTags: s.Tags, Resource: toResource(s.Master),
		Priority: &pb.Priority{Priority: proto.Int32(s.Priority)}, AmContainerSpec: toLaunch(s.Launch),
		UnmanagedAm: proto.Bool(s.Unmanaged), MaxAppAttempts: proto.Int32(s.MaxAttempts),
		KeepContainersAcrossApplicationAttempts: proto.Bool(s.KeepContainers),
		ApplicationName:                         text(s.Name), ApplicationType: text(s.Type), Queue: text(s.Queue), NodeLabelExpression: text(s.NodeLabel),
	}
	if s.LifetimeSeconds > 0 {
		m.ApplicationTimeouts = []*pb.ApplicationTimeoutMap{{
			ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), Timeout: proto.Int64(s.LifetimeSeconds)}}
	}
	return m
}

func toLaunch(l Launch) *pb.ContainerLaunchContext {
	m := &pb.ContainerLaunchContext{Command: l.Commands, Tokens: l.Tokens}
	for k, v := range l.Environment {
		m.Environment = append(m.Environment, &pb.StringStringMap{Key: proto.String(k), Value: proto.String(v)})
	}
	for k, v := range l.ServiceData {
		m.ServiceData = append(m.ServiceData, &pb.StringBytesMap{Key: proto.String(k), Value: v})
	}
	for k, f := range l.Resources {
		m.LocalResources = append(m.LocalResources, &pb.StringLocalResourceMap{Key: proto.String(k), Value: toFile(f)})
	}
	for k, v := range l.ACLs {
		m.Application_ACLs = append(m.Application_ACLs, &pb.ApplicationACLMap{AccessType: pb.ApplicationAccessType(k).Enum(), Acl: proto.String(v)})
	}
	return m
}

func toFile(f File) *pb.LocalResource {
	return &pb.LocalResource{
		Resource: &pb.URL{Scheme: text(f.Scheme), Host: text(f.Host), Port: proto.Int32(f.Port), File: text(f.Path)},
		Size:     proto.Int64(f.Size), Timestamp: proto.Int64(f.Timestamp),
		Type: pb.LocalResourceType(f.Type).Enum(), Visibility: pb.LocalResourceVisibility(f.Visibility).Enum(),
	}
}

// text leaves empty strings out, so that the message's default holds.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
