package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/config"
)

// Texts of Apache's.
const (
	queueConfChanged   = "Configuration change successfully applied."
	queueConfFormatted = "Configuration under store successfully formatted."
)

// withQueueConf has do use the configuration of the queues. A refusal with a text of its own is answered as that text.
func (s *server) withQueueConf(r *http.Request, do func(context.Context, webgate.Caller, access.QueueConf) (*answer.Response, error)) (*answer.Response, error) {
	conf, err := s.Controller.QueueConf()
	if err != nil {
		return nil, err
	}
	res, err := do(r.Context(), webgate.From(r.Context()), conf)
	var refused *access.Refused
	if errors.As(err, &refused) {
		return &answer.Response{Status: refused.Status, Text: refused.Text}, nil
	}
	return res, err
}

// queueConf answers GET: all properties, by name. In Apache's answer they come in the order of a hash table.
func (s *server) queueConf(r *http.Request) (*answer.Response, error) {
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		values, err := conf.Values(ctx, c)
		return confInfo(values), err
	})
}

func confInfo(values []config.Setting) *answer.Response {
	var list tree.List
	for _, v := range values {
		list = append(list, tree.New().Add("name", v.Key).Add("value", v.Value))
	}
	return answer.Bare("configuration", tree.New().AddIf(len(list) > 0, "property", list))
}

func (s *server) queueConfVersion(r *http.Request) (*answer.Response, error) {
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		n, err := conf.Version(ctx, c)
		return answer.Wrapped("configversion", tree.New().Add("versionID", n)), err
	})
}

func (s *server) changeQueueConf(r *http.Request) (*answer.Response, error) {
	m, err := mutationOf(r)
	if err != nil {
		return nil, err
	}
	how, err := changeOf(r)
	if err != nil {
		return nil, err
	}
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		return &answer.Response{Text: queueConfChanged}, conf.Change(ctx, c, *m, how)
	})
}

func (s *server) checkQueueConf(r *http.Request) (*answer.Response, error) {
	m, err := mutationOf(r)
	if err != nil {
		return nil, err
	}
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		values, err := conf.Check(ctx, c, *m)
		return confInfo(values), err
	})
}

// FormatPath is where a GET changes something.
const FormatPath = Prefix + "/scheduler-conf/format"

func (s *server) formatQueueConf(r *http.Request) (*answer.Response, error) {
	if r.Method != http.MethodGet {
		return nil, answer.NotAllowed()
	}
	how, err := changeOf(r)
	if err != nil {
		return nil, err
	}
	return s.withQueueConf(r, func(ctx context.Context, c webgate.Caller, conf access.QueueConf) (*answer.Response, error) {
		return &answer.Response{Text: queueConfFormatted}, conf.Format(ctx, c, how)
	})
}

// maxConfirm bounds the time in which a change can be confirmed.
const maxConfirm = 7 * 24 * time.Hour

// changeOf reads what Apache does not have: the header If-Match, with a version, and the parameters reason and confirm-within (seconds).
func changeOf(r *http.Request) (access.Change, error) {
	how := access.Change{Reason: r.URL.Query().Get("reason")}
	if text := r.URL.Query().Get("confirm-within"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if how.Confirm = time.Duration(n) * time.Second; err != nil || n < 1 || how.Confirm > maxConfirm {
			return how, badRequest("confirm-within is %q: it must be a number of seconds from 1 to %d", text, int64(maxConfirm.Seconds()))
		}
	}
	if len(how.Reason) > maxReason {
		return how, badRequest("the reason has %d bytes, at most %d are kept", len(how.Reason), maxReason)
	}
	if text := strings.Trim(strings.TrimSpace(r.Header.Get("If-Match")), `"`); text != "" && text != "*" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return how, badRequest("If-Match is %q: it must be a version as /scheduler-conf/version gives it, such as \"7\"", text)
		}
		how.Expect = n
	}
	return how, nil
}

// settingBody is one property. A value may be a text, a number or a boolean.
type settingBody struct {
	Key   scalar `xml:"key" json:"key"`
	Value scalar `xml:"value" json:"value"`
}

// entriesBody are properties. compat: a plain object of keys and values says nothing.
type entriesBody struct {
	Entries oneOrMany[settingBody] `xml:"entry" json:"entry"`
}

func (b *entriesBody) settings() (out []config.Setting) {
	for _, e := range b.Entries {
		out = append(out, config.Setting{Key: string(e.Key), Value: string(e.Value)})
	}
	return out
}

type queueBody struct {
	Name   scalar      `xml:"queue-name" json:"queue-name"`
	Params entriesBody `xml:"params" json:"params"`
}

// mutationBody is the body of a change. compat: in JSON it has no wrapper, and members that it does not know are passed by.
type mutationBody struct {
	XMLName xml.Name               `xml:"sched-conf" json:"-"`
	Add     oneOrMany[queueBody]   `xml:"add-queue" json:"add-queue"`
	Remove  oneOrMany[scalar]      `xml:"remove-queue" json:"remove-queue"`
	Update  oneOrMany[queueBody]   `xml:"update-queue" json:"update-queue"`
	Global  oneOrMany[entriesBody] `xml:"global-updates" json:"global-updates"`
	commandBody
}

// commandBody is what yarn schedulerconf of Hadoop 3.5.0 sends; Apache's ResourceManager passes it by and says that all was done.
type commandBody struct {
	AddInfo    []beanBody        `xml:"-" json:"addQueueInfo"`
	RemoveInfo []string          `xml:"-" json:"removeQueueInfo"`
	UpdateInfo []beanBody        `xml:"-" json:"updateQueueInfo"`
	Globals    map[string]string `xml:"-" json:"globalParams"`
}

type beanBody struct {
	Queue  string            `json:"queue"`
	Params map[string]string `json:"params"`
}

// maxChanges bounds what one request may name.
const maxChanges = 100_000

// mutationOf reads the body of a change.
func mutationOf(r *http.Request) (*config.Mutation, error) {
	body, err := mutationText(r)
	if err != nil {
		return nil, err
	}
	m := &config.Mutation{}
	for _, name := range body.Remove {
		m.Remove = append(m.Remove, string(name))
	}
	for _, q := range body.Add {
		m.Add = append(m.Add, config.QueueChange{Path: string(q.Name), Settings: q.Params.settings()})
	}
	for _, q := range body.Update {
		m.Update = append(m.Update, config.QueueChange{Path: string(q.Name), Settings: q.Params.settings()})
	}
	for _, g := range body.Global {
		m.Global = append(m.Global, g.settings()...)
	}
	body.commandBody.into(m)
	if n := len(m.Remove) + len(m.Add) + len(m.Update) + len(m.Global); n > maxChanges {
		return nil, badRequest("%d changes in one request, at most %d are taken", n, maxChanges)
	}
	return m, nil
}

func (b *commandBody) into(m *config.Mutation) {
	settings := func(values map[string]string) (out []config.Setting) {
		for k, v := range values {
			out = append(out, config.Setting{Key: k, Value: v})
		}
		return out
	}
	m.Remove = append(m.Remove, b.RemoveInfo...)
	for _, q := range b.AddInfo {
		m.Add = append(m.Add, config.QueueChange{Path: q.Queue, Settings: settings(q.Params)})
	}
	for _, q := range b.UpdateInfo {
		m.Update = append(m.Update, config.QueueChange{Path: q.Queue, Settings: settings(q.Params)})
	}
	m.Global = append(m.Global, settings(b.Globals)...)
}

func mutationText(r *http.Request) (*mutationBody, error) {
	isXML, text, err := content(r)
	if err != nil {
		return nil, err
	}
	body := &mutationBody{}
	text = bytes.TrimSpace(text)
	switch {
	case isXML:
		return body, readXML(text, body)
	case bytes.Equal(text, []byte("[]")): // compat: it says nothing, and is taken
		return body, nil
	case !bytes.HasPrefix(text, []byte("{")) || !shallow(text) || json.Unmarshal(text, body) != nil:
		return nil, unreadable()
	}
	return body, nil
}

// Bounds of a change's text.
const (
	maxBodyDepth  = 8
	maxBodyTokens = 2_000_000
)

// readXML reads a document that is flat, and has no DOCTYPE.
func readXML(text []byte, into any) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	for depth, n := 0, 0; ; n++ {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && depth == 0 {
			break
		}
		if err != nil || n > maxBodyTokens {
			return unreadableXML("")
		}
		switch token.(type) {
		case xml.StartElement:
			if depth++; depth > maxBodyDepth {
				return unreadableXML("")
			}
		case xml.EndElement:
			depth--
		case xml.Directive:
			return unreadableXML("")
		}
	}
	if xml.Unmarshal(text, into) != nil {
		return unreadableXML("")
	}
	return nil
}

// shallow tells whether a JSON text is not nested too deeply.
func shallow(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxBodyDepth {
				return false
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}
