package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

// ofManager are the metrics of a ResourceManager that dashboards and alerts name; those of nodes are nodemanager/web's.
var ofManager = regexp.MustCompile(`\b((?:cluster|queue|loop|election|allocation_file|jvm)_metrics_[a-z_]+|heddle_[a-z_]+)\b`)

// TestDashboards: every metric that dashboards and alerts name is in /prom, of a ResourceManager with high availability and of one with the
// FairScheduler.
func TestDashboards(t *testing.T) {
	capacity, fair := webtest.New(), webtest.NewFair()
	capacity.Self.Role = &access.Role{Copy: &access.Copy{}}
	fair.Self.Allocations = &access.Allocations{}
	told := ""
	for _, source := range []access.Source{capacity, fair} {
		r := webgate.NewRouter("/", "")
		introspect.Add(r, introspect.Config{Service: service, Properties: func() []introspect.Property { return nil },
			Beans: func(ctx context.Context) []introspect.Bean { return beans(ctx, source, nil) }})
		w := httptest.NewRecorder()
		webgate.New(webgate.Config{}, r).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/prom", nil))
		told += w.Body.String()
	}
	files, err := filepath.Glob("../../deploy/[gp]r*/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v %v", files, err)
	}
	names := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range ofManager.FindAllString(string(text), -1) {
			if names++; !strings.Contains(told, "\n# TYPE "+name+" ") {
				t.Errorf("%s names %s, which no ResourceManager has", file, name)
			}
		}
	}
	if names < 50 {
		t.Errorf("only %d metrics are named", names)
	}
}
