package resourcemanager

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/sim/rerun"
	"github.com/heddle-project/heddle/wire/pb"
)

// record asks for something about recordings.
func (w *world) record(user, action string) (status int, x struct {
	Recording struct {
		Commands, Missing, AllBytes int64
		File, All                   string
	}
	RemoteException struct{ Message string }
}) {
	w.t.Helper()
	method, body := http.MethodGet, ""
	if action != "" {
		method, body = http.MethodPut, `{"action":"`+action+`"}`
	}
	status = w.web(method, "recording?"+user, body, &x)
	return status, x
}

// Administrators, and nobody else, have recordings made; each is played again.
func TestRecord(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.heddle.black-box.record", "false", "yarn.acl.enable", "true", "yarn.admin.acl", operator)
	n := w.newNode()
	alice := w.as("alice")
	alice.submit()
	n.launched().register()

	const admin = "user.name=" + operator
	for _, user := range []string{"", "user.name=alice"} {
		for _, action := range []string{"", "save", "start", "stop"} {
			if status, x := w.record(user, action); status != http.StatusUnauthorized && status != http.StatusForbidden || x.Recording.Commands != 0 {
				t.Errorf("%q may %q: %d %+v", user, action, status, x)
			}
		}
	}
	if files, _ := filepath.Glob(filepath.Join(w.records, "*")); len(files) > 0 {
		t.Errorf("refused calls have left %v", files)
	}
	status, x := w.record(admin, "")
	if r := x.Recording; status != http.StatusOK || r.Commands < 5 || r.Missing != 0 || r.File != "" || r.All != "" {
		t.Errorf("status: %d %+v", status, x)
	}
	var files []string
	for _, action := range []string{"save", "start", "save", "stop"} {
		status, x := w.record(admin, action)
		r := x.Recording
		if status != http.StatusOK || filepath.Dir(r.File) != w.records || (r.All == r.File) != (action == "start") {
			t.Errorf("%s: %d %+v", action, status, x)
		}
		files = append(files, r.File)
		alice.submit()
	}
	if files[1] != files[3] || files[0] == files[2] {
		t.Errorf("files: %v", files)
	}
	for _, file := range append(files[:3:3], w.log.String()) {
		if strings.HasSuffix(file, ".blackbox") {
			var out bytes.Buffer
			if code := rerun.Main([]string{"-check", file}, &out, &out); code != 0 || !strings.Contains(out.String(), "as recorded\n") {
				t.Errorf("%s: %d\n%s", file, code, out.String())
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", file, info, err)
			}
		}
	}
	for action, says := range map[string]string{"stop": "not all commands are being recorded", "dance": "action must be"} {
		if status, x := w.record(admin, action); status != http.StatusBadRequest || !strings.Contains(x.RemoteException.Message, says) {
			t.Errorf("%s: %d %+v", action, status, x)
		}
	}
	until(t, "all lines of the audit log", func() bool { return len(w.audits(recordOperation)) >= 5+3 })
	if lines := w.audits(recordOperation); len(lines) != 5+3 { // those of users without a name are refused at the gate
		t.Errorf("audit: %s", strings.Join(lines, "\n"))
	}
}

// Who does not say who he is has none made, even where everybody is an administrator.
func TestRecordOfNobody(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.admin.acl", "*", "yarn.webapp.heddle.anonymous-writes", "true")
	for _, action := range []string{"", "save"} {
		if status, x := w.record("", action); status != http.StatusUnauthorized || !strings.Contains(x.RemoteException.Message, "say who they are") {
			t.Errorf("%q: %d %+v", action, status, x)
		}
		if status, x := w.record("user.name=bob", action); status != http.StatusOK {
			t.Errorf("bob, %q: %d %+v", action, status, x)
		}
	}
}

// Nothing that is secret gets into a recording of a daemon that has made keys and tokens.
func TestRecordHasNoSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.bolt")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.heddle.state-store.path", path)
	secret := []byte("the launch context's secret")
	token := must(w.as("alice"), "getDelegationToken", &pb.GetDelegationTokenRequest{Renewer: proto.String("yarn")}, &pb.GetDelegationTokenResponse{}).Token
	w.as("alice").submit(func(c *pb.ApplicationSubmissionContext) { c.AmContainerSpec.Command = []string{string(secret)} })
	w.newNode().launched().register()
	_, x := w.record("user.name="+operator, "save")
	w.d.Stop()

	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stored, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	secrets := [][]byte{secret, token.Identifier, token.Password, stored.MasterKeys.Current.Bytes}
	for _, k := range stored.DelegationKeys {
		secrets = append(secrets, k.Bytes)
	}
	if len(secrets) < 5 {
		t.Errorf("only %d secrets were looked for", len(secrets))
	}
	file, err := os.ReadFile(x.Recording.File)
	if err != nil {
		t.Fatal(err)
	}
	_, zipped, _ := bytes.Cut(file, []byte("\n"))
	zip, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range secrets {
		if len(key) < 8 || bytes.Contains(plain, key) {
			t.Errorf("secret %d, of %d bytes, is in the recording", i, len(key))
		}
	}
	if !bytes.Contains(plain, []byte("delegation-token")) || !bytes.Contains(plain, []byte("delegation-key")) {
		t.Error("the recording knows of no token")
	}
}
