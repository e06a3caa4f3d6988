package resourcemanager

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/jvm"
	"github.com/heddle-project/heddle/resourcemanager/web"
	"github.com/heddle-project/heddle/resourcemanager/web/webapp"
)

// webApps are Apache's own web interfaces, as far as they are switched on. One that cannot be read stops nothing: the log says why, and
// its address says that it is not served.
func (d *Daemon) webApps() (apps []web.App) {
	for _, a := range []struct {
		prefix, property, war, folder string
		conf.WebApp
	}{
		{"/ui2", "yarn.webapp.ui2", "hadoop-yarn-ui-*.war", "webapps/ui2", d.settings.Web.UI2},
		{"/scheduler-ui", "yarn.webapp.scheduler-ui", "hadoop-yarn-capacity-scheduler-ui-*.war", "webapps/scheduler-ui", d.settings.Web.SchedulerUI},
	} {
		if !a.Enabled {
			continue
		}
		app := web.App{Prefix: a.prefix, Property: a.property + ".enable"}
		at, err := a.Path, error(nil)
		if at == "" {
			at, err = d.installed(a.war, a.folder)
		}
		if err == nil {
			app.App, err = webapp.Open(at)
		}
		if err != nil {
			d.Log.Error("a web interface that "+app.Property+" asks for is not served: let "+a.property+".war-file-path name its war or folder", "address", a.prefix, "error", err)
		} else {
			d.Log.Info("serving a web interface of Apache's", "address", a.prefix, "from", at)
		}
		apps = append(apps, app)
	}
	return apps
}

// installed looks for a war, and then for a folder, in an installation of Apache Hadoop, in the order of its class path.
func (d *Daemon) installed(war, folder string) (string, error) {
	if d.Getenv == nil {
		return "", errors.New("no environment names an installation of Apache Hadoop")
	}
	var dirs []string
	for _, entry := range jvm.ClassPath(d.Getenv, "") {
		if !strings.HasSuffix(entry, "*") {
			dirs = append(dirs, entry)
		}
	}
	for _, name := range []string{war, folder} {
		for _, dir := range dirs {
			if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) > 0 {
				return found[len(found)-1], nil
			}
		}
	}
	return "", fmt.Errorf("the installation of Apache Hadoop that HADOOP_HOME or HADOOP_YARN_HOME names has neither %s nor %s in its share/hadoop/yarn", war, folder)
}
