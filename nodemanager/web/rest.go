package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

func (s *server) info(*http.Request) (*answer.Response, error) {
	n := s.Source.Node()
	v := s.Version
	o := tree.New().
		Add("healthReport", n.Report).
		Add("totalVmemAllocatedContainersMB", n.VirtualMB).
		Add("totalPmemAllocatedContainersMB", n.Offered.MemoryMB()).
		Add("totalVCoresAllocatedContainers", n.Offered.VCoreCount()).
		Add("vmemCheckEnabled", n.VirtualCheck).
		Add("pmemCheckEnabled", n.PhysicalCheck).
		Add("lastNodeUpdateTime", n.Checked).
		Add("resourceTypes", typesText(n.Types)).
		Add("nodeHealthy", n.Healthy).
		Add("nodeManagerVersion", v.Number).
		Add("nodeManagerBuildVersion", v.Build).
		Add("nodeManagerVersionBuiltOn", v.Date).
		Add("hadoopVersion", v.Number).
		Add("hadoopBuildVersion", v.Build).
		Add("hadoopVersionBuiltOn", v.Date).
		Add("id", n.ID.String()).
		Add("nodeHostName", n.ID.Host).
		Add("nmStartupTime", n.Started)
	if n.Recovery != "" {
		o.Add("heddleRecoveryDirectory", n.Recovery)
	}
	return answer.Wrapped("nodeInfo", o), nil
}

// typesText names the resource types with their units.
func typesText(types yarn.ResourceTypes) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
		if t.Units != "" {
			names[i] += " (unit=" + t.Units + ")"
		}
	}
	return strings.Join(names, ", ")
}

// applicationStates are those of Hadoop's ApplicationState.
var applicationStates = []string{"NEW", "INITING", "RUNNING", "FINISHING_CONTAINERS_WAIT", "APPLICATION_RESOURCES_CLEANINGUP", "FINISHED"}

func (s *server) apps(r *http.Request) (*answer.Response, error) {
	state, query := r.FormValue("state"), r.URL.Query()
	if state != "" && !slices.Contains(applicationStates, state) {
		return nil, answer.IllegalArgument(
			"No enum constant org.apache.hadoop.yarn.server.nodemanager.containermanager.application.ApplicationState.%s", state)
	}
	user := query.Get("user")
	if query.Has("user") && user == "" {
		return nil, answer.Errorf(answer.Invalid, "Error: You must specify a non-empty string for the user")
	}
	var list tree.List
	for _, a := range s.Source.Applications() {
		if (state == "" || a.State == state) && (user == "" || a.User == user) && s.listed(r, a) {
			list = append(list, application(a))
		}
	}
	return answer.Wrapped("apps", tree.New().Add("app", list)), nil
}

// listed tells whether a list shows an application to the caller.
func (s *server) listed(r *http.Request, a view.Application) bool {
	return !s.FilterByUser || s.Source.MayView(webgate.From(r.Context()), a)
}

func application(a view.Application) *tree.Object {
	ids := make(tree.List, len(a.Containers))
	for i, c := range a.Containers {
		ids[i] = c.String()
	}
	return tree.New().Add("id", a.ID.String()).Add("state", a.State).Add("user", a.User).Add("containerids", ids)
}

// oneApp finds the application that the address names.
func (s *server) oneApp(r *http.Request) (view.Application, error) {
	id, err := answer.ParseApplication(r.PathValue("app"))
	if err != nil {
		return view.Application{}, err
	}
	a, ok := s.Source.Application(id)
	if !ok {
		return a, answer.Errorf(answer.NotFound, "app with id %s not found", r.PathValue("app"))
	}
	return a, nil
}

func (s *server) app(r *http.Request) (*answer.Response, error) {
	a, err := s.oneApp(r)
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("app", application(a)), nil
}

// containers are made one by one: each needs a look into its log directories.
func (s *server) containers(r *http.Request) (*answer.Response, error) {
	all := s.Source.Containers()
	stream := func(yield func(tree.Value) bool) {
		for _, c := range all {
			a, known := s.Source.Application(c.ID.Attempt.Application)
			if (!s.FilterByUser || known && s.listed(r, a)) && !yield(s.containerDocument(r, c)) {
				return
			}
		}
	}
	return answer.Wrapped("containers", tree.New().Add("container", tree.Stream(stream))), nil
}

func (s *server) containerDocument(r *http.Request, c view.Container) *tree.Object {
	var files tree.List
	if there, err := s.files(r, c.ID); err == nil {
		for _, f := range there {
			files = append(files, f.Name)
		}
	}
	return tree.New().
		Add("id", c.ID.String()).
		Add("state", c.State).
		Add("exitCode", c.Exit).
		Add("diagnostics", c.Diagnostics).
		Add("user", c.User).
		Add("totalMemoryNeededMB", c.Resource.MemoryMB()).
		Add("totalVCoresNeeded", c.Resource.VCoreCount()).
		Add("executionType", c.Execution.String()).
		Add("containerLogsLink", s.base(r)+logsLink(c.ID, c.User)).
		Add("nodeId", s.Source.Node().ID.String()).
		Add("containerLogFiles", files)
}

// base is this port's address as the caller wrote it.
func (s *server) base(r *http.Request) string {
	if s.HTTPS {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// oneContainer finds the container that the address names.
func (s *server) oneContainer(r *http.Request) (view.Container, error) {
	id, err := containerID(r)
	if err != nil {
		return view.Container{}, err
	}
	c, ok := s.Source.Container(id)
	if !ok {
		return c, answer.Errorf(answer.NotFound, "container with id, %s, not found", r.PathValue("container"))
	}
	return c, nil
}

func containerID(r *http.Request) (yarn.ContainerID, error) {
	id, err := yarn.ParseContainerID(r.PathValue("container"))
	if err != nil {
		return id, answer.Errorf(answer.Invalid, "invalid container id, %s", r.PathValue("container"))
	}
	return id, nil
}

func (s *server) container(r *http.Request) (*answer.Response, error) {
	c, err := s.oneContainer(r)
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("container", s.containerDocument(r, c)), nil
}

// resource is what a plug-in for devices would tell; there are none.
func (s *server) resource(*http.Request) (*answer.Response, error) {
	return answer.Wrapped("nmResourceInfo", tree.New().Add("resourceValue", 0)), nil
}

func (s *server) auxiliary(*http.Request) (*answer.Response, error) {
	return nil, answer.Errorf(answer.Invalid, "Auxiliary services manifest is not enabled")
}
