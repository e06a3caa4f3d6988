package rest_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
)

const submitted = "application_1795305251364_0010"

// everything is a submission with all that one can have; the token is one of identifier "id", password "pw", kind "kind",
// service "svc".
const (
	everythingJSON = `{"application-id":"application_1795305251364_0010","application-name":"n","queue":"root.dev","priority":3,"unmanaged-AM":"false",
"cancel-tokens-when-complete":false,"max-app-attempts":"2","resource":{"memory":300,"vCores":2,"resourceInformations":{"resourceInformation":[{"name":"gpu","value":1}]}},
"application-type":"T","keep-containers-across-application-attempts":true,"application-tags":{"tag":["x","Y"]},"app-node-label-expression":"a",
"am-container-node-label-expression":"b","log-aggregation-context":{"log-include-pattern":"i","rolled-log-exclude-pattern":"e"},
"attempt-failures-validity-interval":1000,"reservation-id":"reservation_1_0001","colour":{"any":[1]},
"am-container-spec":{"commands":{"command":"sleep 1"},"environment":{"entry":[{"key":"A","value":1},{"key":"B"}]},
"local-resources":{"entry":{"key":"f","value":{"resource":"hdfs://u:p@h:9000/a/b%20c?q","type":"PATTERN","visibility":"PUBLIC","size":"12","timestamp":13,"pattern":".*"}}},
"service-data":{"entry":[{"key":"s","value":"aGVsbG8="},{"key":"none","value":""}]},
"credentials":{"tokens":{"entry":[{"key":"t","value":"AmlkAnB3BGtpbmQDc3Zj"}]},"secrets":{"entry":[{"key":"k","value":"aGVsbG8"}]}},
"application-acls":{"entry":[{"key":"VIEW_APP","value":"u g"},{"key":"MODIFY_APP","value":" "}]}}}`
	everythingXML = `<?xml version="1.0"?><application-submission-context><application-id>application_1795305251364_0010</application-id><application-name>n</application-name>
<queue>root.dev</queue><priority>3</priority><unmanaged-AM>false</unmanaged-AM><cancel-tokens-when-complete>false</cancel-tokens-when-complete>
<max-app-attempts>2</max-app-attempts><resource><memory>300</memory><vCores>2</vCores></resource><application-type>T</application-type>
<keep-containers-across-application-attempts>true</keep-containers-across-application-attempts><application-tags><tag>x</tag><tag>Y</tag></application-tags>
<app-node-label-expression>a</app-node-label-expression><am-container-node-label-expression>b</am-container-node-label-expression>
<log-aggregation-context><log-include-pattern>i</log-include-pattern><rolled-log-exclude-pattern>e</rolled-log-exclude-pattern></log-aggregation-context>
<attempt-failures-validity-interval>1000</attempt-failures-validity-interval><reservation-id>reservation_1_0001</reservation-id><colour><any/></colour>
<am-container-spec><commands><command>sleep 1</command></commands><environment><entry><key>A</key><value>1</value></entry><entry><key>B</key></entry></environment>
<local-resources><entry><key>f</key><value><resource>hdfs://u:p@h:9000/a/b%20c?q</resource><type>PATTERN</type><visibility>PUBLIC</visibility><size>12</size><timestamp>13</timestamp><pattern>.*</pattern></value></entry></local-resources>
<service-data><entry><key>s</key><value>aGVsbG8=</value></entry><entry><key>none</key><value/></entry></service-data>
<credentials><tokens><entry><key>t</key><value>AmlkAnB3BGtpbmQDc3Zj</value></entry></tokens><secrets><entry><key>k</key><value>aGVsbG8</value></entry></secrets></credentials>
<application-acls><entry><key>VIEW_APP</key><value>u g</value></entry><entry><key>MODIFY_APP</key><value> </value></entry></application-acls></am-container-spec>
</application-submission-context>`
)

// TestSubmission compares the contexts that are made with what Apache 3.5.0 stores of the same submissions.
func TestSubmission(t *testing.T) {
	for _, c := range []struct{ name, kind, body, want string }{
		{"everything", "json", everythingJSON, "everything"},
		{"everything in XML", "xml", everythingXML, "everything"},
		{"the id alone", "json", `{"application-id":"` + submitted + `"}`, "least"},
		{"nulls", "json", `{"application-id":"` + submitted + `","am-container-spec":null,"resource":null,"application-tags":null,"queue":null}`, "least"},
		{"the id alone in XML", "xml", `<application-submission-context><application-id>` + submitted + `</application-id></application-submission-context>`, "least"},
	} {
		t.Run(c.name, func(t *testing.T) {
			controller := &webtest.Controller{}
			w := send(serve(t, webtest.New(), controller), http.MethodPost, "/apps", c.kind, c.body)
			if w.Code != http.StatusAccepted || w.Body.Len() > 0 || w.Header().Get("Location") != "http://127.0.0.1:22050"+rest.Prefix+"/apps/"+submitted {
				t.Fatalf("%d %s, Location %s", w.Code, w.Body, w.Header().Get("Location"))
			}
			text, err := os.ReadFile("testdata/submission-" + c.want + ".textproto")
			if err != nil {
				t.Fatal(err)
			}
			want, got := &pb.ApplicationSubmissionContext{}, &pb.ApplicationSubmissionContext{}
			if err := prototext.Unmarshal(text, want); err != nil {
				t.Fatal(err)
			}
			if err := proto.Unmarshal(controller.Submitted, got); err != nil {
				t.Fatal(err)
			}
			blob := got.GetAmContainerSpec().GetTokens()
			got.GetAmContainerSpec().Tokens = nil
			if !proto.Equal(got, want) {
				t.Errorf("%s", prototext.Format(got))
			}
			kept, err := token.ParseCredentials(blob)
			if err != nil {
				t.Fatal(err)
			}
			tok, _ := kept.Token("t")
			if secret, _ := kept.Secret("k"); c.want == "everything" && (string(secret) != "hello" || tok.Kind != "kind" || string(tok.Password) != "pw") {
				t.Errorf("credentials %+v", kept)
			}
		})
	}
}

func TestSubmissionRefused(t *testing.T) {
	with := func(rest string) string { return `{"application-id":"` + submitted + `",` + rest + `}` }
	spec := func(rest string) string { return with(`"am-container-spec":{` + rest + `}`) }
	local := func(rest string) string {
		return spec(`"local-resources":{"entry":[{"key":"f","value":{` + rest + `}}]}`)
	}
	asXML := func(rest string) string {
		return "<application-submission-context>" + rest + "</application-submission-context>"
	}
	unread := `{"RemoteException":{"exception":"WebApplicationException","javaClassName":"javax.ws.rs.WebApplicationException"}}`
	for name, c := range map[string]struct {
		kind, body string
		status     int
		answer     string
	}{
		"no JSON":              {"json", `{"application-id": `, 400, unread},
		"nothing":              {"json", ``, 400, unread},
		"a list":               {"json", `[{"application-id":"` + submitted + `"}]`, 400, unread},
		"null":                 {"json", `null`, 400, unread},
		"more behind it":       {"json", `{} {}`, 400, unread},
		"deep":                 {"json", with(`"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), 400, unread},
		"no id":                {"json", `{}`, 400, `"exception":"BadRequestException","message":"Could not parse application id ","javaClassName":"org.apache.hadoop.yarn.webapp.BadRequestException"`},
		"under the root":       {"json", `{"application-submission-context":{"application-id":"` + submitted + `"}}`, 400, "Could not parse application id \""},
		"a bad id":             {"json", `{"application-id":"bogus"}`, 400, "Could not parse application id bogus"},
		"text for a number":    {"json", with(`"priority":"x"`), 400, `priority is \"x\": it must be an integer of 32 bits`},
		"fraction":             {"json", with(`"resource":{"memory":1.5}`), 400, "memory is"},
		"beyond 32 bits":       {"json", with(`"max-app-attempts":3000000000`), 400, "max-app-attempts is"},
		"text for a boolean":   {"json", with(`"unmanaged-AM":"maybe"`), 400, "unmanaged-AM is"},
		"object for a text":    {"json", with(`"queue":{"a":1}`), 400, "where a text belongs"},
		"list for an object":   {"json", spec(`"commands":["true"]`), 400, "does not belong there"},
		"text for an object":   {"json", with(`"resource":"1 GB"`), 400, "does not belong there"},
		"too much memory":      {"json", with(`"resource":{"memory":999999}`), 400, "Requested more memory than configured max"},
		"too many cores":       {"json", with(`"resource":{"vCores":99}`), 400, "Requested more cores than configured max"},
		"reservation":          {"json", with(`"reservation-id":"bogus"`), 400, "reservation-id"},
		"no key":               {"json", spec(`"environment":{"entry":[{"value":"x"}]}`), 400, "entry 1 of environment has no key"},
		"very many":            {"json", spec(`"environment":{"entry":[` + strings.Repeat(`{},`, 10_000) + `{}]}`), 400, "environment has 10001 entries, at most 10000 are taken"},
		"very many tags":       {"json", with(`"application-tags":{"tag":[` + strings.Repeat(`1,`, 10_000) + `1]}`), 400, "application-tags has 10001 entries"},
		"very many commands":   {"json", spec(`"commands":{"command":[` + strings.Repeat(`1,`, 10_000) + `1]}`), 400, "commands has 10001 entries"},
		"service data":         {"json", spec(`"service-data":{"entry":[{"key":"s","value":"!!"}]}`), 400, `service-data \"s\" is not base64`},
		"a token":              {"json", spec(`"credentials":{"tokens":{"entry":[{"key":"t","value":"!!"}]}}`), 400, "Could not parse credentials data; exception message = "},
		"half a token":         {"json", spec(`"credentials":{"tokens":{"entry":[{"key":"t","value":"AmlkAnB3BGtp"}]}}`), 400, "Could not parse credentials data; exception message = "},
		"a secret":             {"json", spec(`"credentials":{"secrets":{"entry":[{"key":"k","value":"s3cr~t"}]}}`), 400, `secret \"k\" is not base64`},
		"an ACL":               {"json", spec(`"application-acls":{"entry":[{"key":"READ","value":"u"}]}`), 400, "neither VIEW_APP nor MODIFY_APP"},
		"no URL":               {"json", local(`"type":"FILE","visibility":"PUBLIC"`), 400, "it must be a URL"},
		"a bad URL":            {"json", local(`"resource":"http://a b/","type":"FILE","visibility":"PUBLIC"`), 400, "it must be a URL"},
		"a bad port":           {"json", local(`"resource":"http://a:99999/","type":"FILE","visibility":"PUBLIC"`), 400, "the port of"},
		"no type":              {"json", local(`"resource":"http://a/","visibility":"PUBLIC"`), 400, "it must be ARCHIVE, FILE or PATTERN"},
		"no visibility":        {"json", local(`"resource":"http://a/","type":"FILE"`), 400, "it must be PUBLIC, PRIVATE or APPLICATION"},
		"a bad size":           {"json", local(`"resource":"http://a/","type":"FILE","visibility":"PUBLIC","size":"x"`), 400, "size is"},
		"no text":              {"json", with("\"application-name\":\"\\ud800\",\"queue\":\"\xff\""), 202, ""},
		"too large":            {"json", with(`"x":"` + strings.Repeat("x", answer.MaxBody) + `"`), 413, "larger than"},
		"empty XML":            {"xml", " ", 400, "Missing entity."},
		"another root":         {"xml", `<x><application-id>` + submitted + `</application-id></x>`, 400, "javax.ws.rs.BadRequestException"},
		"two roots":            {"xml", asXML("") + asXML(""), 400, "javax.ws.rs.BadRequestException"},
		"unfinished":           {"xml", `<application-submission-context><application-id>` + submitted + `</application-id>`, 400, "javax.ws.rs.BadRequestException"},
		"an entity":            {"xml", `<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>` + asXML(`<application-id>`+submitted+`</application-id><queue>&e;</queue>`), 400, "javax.ws.rs.BadRequestException"},
		"a document type":      {"xml", `<!DOCTYPE a>` + asXML(`<application-id>`+submitted+`</application-id>`), 400, "javax.ws.rs.BadRequestException"},
		"an unknown entity":    {"xml", asXML(`<application-id>` + submitted + `</application-id><queue>&e;</queue>`), 400, "javax.ws.rs.BadRequestException"},
		"deep XML":             {"xml", asXML(strings.Repeat("<a>", 50_000) + strings.Repeat("</a>", 50_000)), 400, "javax.ws.rs.BadRequestException"},
		"blanks around the id": {"xml", asXML(`<application-id> ` + submitted + ` </application-id>`), 400, "Could not parse application id  " + submitted},
		"text for a number in XML": {"xml", asXML(`<application-id>` + submitted + `</application-id><priority>x</priority>`), 400,
			"priority is"},
	} {
		t.Run(name, func(t *testing.T) {
			controller := &webtest.Controller{}
			r := send(serve(t, webtest.New(), controller), http.MethodPost, "/apps", c.kind, c.body)
			if r.Code != c.status || !strings.Contains(r.Body.String(), c.answer) {
				t.Errorf("%d %.300s, want %d %s", r.Code, r.Body, c.status, c.answer)
			}
			if strings.Contains(r.Body.String(), "s3cr") {
				t.Errorf("a secret in the answer: %s", r.Body)
			}
			if calls := controller.Calls(); c.status != 202 && len(calls) > 0 {
				t.Errorf("calls %q", calls)
			}
		})
	}
}

func TestSubmissionsRefusedLater(t *testing.T) {
	controller := &webtest.Controller{Err: answer.Errorf(answer.Invalid, "no such label")}
	w := send(serve(t, webtest.New(), controller), http.MethodPost, "/apps", "json", fmt.Sprintf(`{"application-id":%q}`, submitted))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "no such label") || w.Header().Get("Location") != "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
