import { useState } from "react";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { change, count, duration, Failure, list, moment, percent, queryOf, useGet, usePlace, setQuery, visible, visibleLines } from "../lib";
import { A, Action, Card, Field, Note, Page, Problem, State, T, Table, useMay, Wait } from "../parts";

interface Property { name: string; value: string }
const propertiesOf = (x: any): Property[] => list<any>(x?.property ?? x?.configuration?.property).map((p) => ({ name: String(p.name), value: String(p.value) }));

export function Configuration() {
  const { query } = usePlace();
  const conf = useGet<any>("scheduler-conf", { every: 15_000 });
  const history = useGet<{ schedulerConfHistory: any }>("scheduler-conf/history", { every: 10_000 });
  const h = history.data?.schedulerConfHistory;
  const tab = query.get("tab") ?? "view";
  return <Page title="Configuration of queues" light="/cluster/scheduler" aside={h && <span className="quiet">version {h.version} is in force{h.mutable ? "" : ", of capacity-scheduler.xml"}</span>}>
    {h?.trial && <Trial t={h.trial} />}
    <Wait of={history}>{h && <Tabs className="tabs" selectedKey={tab} onSelectionChange={(k) => setQuery({ tab: k === "view" ? "" : String(k) })}>
      <TabList aria-label="Configuration" className="tablist"><Tab id="view">In force</Tab><Tab id="change">Change</Tab><Tab id="history">History</Tab><Tab id="diff">Compare</Tab></TabList>
      <TabPanel id="view"><Wait of={conf}><View properties={propertiesOf(conf.data)} /></Wait></TabPanel>
      <TabPanel id="change"><Wait of={conf}><Change key={h.version} now={propertiesOf(conf.data)} version={h.version} /></Wait></TabPanel>
      <TabPanel id="history"><History h={h} /></TabPanel>
      <TabPanel id="diff"><Diff h={h} /></TabPanel>
    </Tabs>}</Wait>
  </Page>;
}

function View({ properties }: { properties: Property[] }) {
  const [text, setText] = useState("");
  const shown = properties.filter((p) => (p.name + p.value).toLowerCase().includes(text.toLowerCase()));
  return <Card flat><div className="filters inset"><label className="field"><span>Filter</span><input type="search" value={text} onChange={(e) => setText(e.target.value)} /></label><span className="quiet">{count(shown.length)} of {count(properties.length)} properties</span>
    <button type="button" className="button" onClick={() => save("capacity-scheduler.xml", asXML(properties))}>Export as XML</button></div>
    <Table label="Properties in force" heads={["Property", "Value"]} rows={shown.slice(0, 1000).map((p) => [<code><T>{p.name}</T></code>, <T>{p.value}</T>])} />
    {shown.length > 1000 && <Note>The first 1,000 are shown: filter for others.</Note>}</Card>;
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
/** The properties as a capacity-scheduler.xml. Characters that XML cannot have are left out. */
function asXML(all: Property[]): string {
  const text = (s: string) => s.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "").replace(/[&<>]/g, (c) => escapes[c]!);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n${all.map((p) => `  <property>\n    <name>${text(p.name)}</name>\n    <value>${text(p.value)}</value>\n  </property>\n`).join("")}</configuration>\n`;
}
function save(name: string, text: string) {
  const at = URL.createObjectURL(new Blob([text], { type: "application/xml" }));
  const link = document.createElement("a");
  link.href = at; link.download = name; link.click();
  window.setTimeout(() => URL.revokeObjectURL(at), 10_000);
}

function Differences({ of, label }: { of: any; label: string }) {
  return <Table label={label} heads={["Change", "Property", "Before", "After"]} empty="No difference." rows={list<any>(of).map((c) => [
    c.from === undefined ? <span className="ins">+ new</span> : c.to === undefined ? <span className="del">− gone</span> : <span className="same">~ changed</span>, <code><T>{c.name}</T></code>, c.from === undefined ? "–" : <del><T>{c.from}</T></del>, c.to === undefined ? "–" : <ins><T>{c.to}</T></ins>])} />;
}

/** A whole configuration as lines of name = value, of which the server says what it would change. */
const asText = (all: Property[]) => all.map((p) => `${p.name} = ${p.value}`).join("\n");
function parse(text: string): Property[] {
  const out: Property[] = [];
  text.split("\n").forEach((line, i) => {
    if (!line.trim() || line.trim().startsWith("#")) return;
    const at = line.indexOf("=");
    if (at < 1) throw new Failure(0, `Line ${i + 1} is not NAME = VALUE: ${line}`);
    out.push({ name: line.slice(0, at).trim(), value: line.slice(at + 1).trim() });
  });
  return out;
}

function Change({ now, version }: { now: Property[]; version: number }) {
  const may = useMay();
  const [text, setText] = useState(() => asText(now));
  const [plan, setPlan] = useState<{ of: string; p?: any; error?: unknown; busy?: boolean }>();
  const [reason, setReason] = useState(""), [within, setWithin] = useState("");
  const [done, setDone] = useState("");
  const seen = plan?.of === text ? plan : undefined;
  const look = async () => {
    setPlan({ of: text, busy: true });
    try { setPlan({ of: text, p: (await change<any>("POST", "scheduler-conf/plan", { property: parse(text) })).schedulerConfPlan }); } catch (error) { setPlan({ of: text, error }); }
  };
  const p = seen?.p;
  return <Card title="Staged change">
    {!may && <Note>You may read and write here, but asking for a plan and applying it needs a name, and an address from which things may be changed.</Note>}
    {done && <p className="note" role="status">{done}</p>}
    <label className="field column"><span>All properties, one a line</span><textarea spellCheck={false} rows={Math.min(24, now.length + 3)} value={text} onChange={(e) => { setText(e.target.value); setDone(""); }} /></label>
    <div className="buttons left">
      <button type="button" className="button solid" disabled={!may || text === asText(now)} onClick={() => void look()}>{seen?.busy ? "Asking…" : "Show plan"}</button>
      <button type="button" className="button" disabled={text === asText(now)} onClick={() => { setText(asText(now)); setPlan(undefined); }}>Discard</button>
      {p?.accepted && list(p.change).length > 0 && <Action name="Apply" title={`Make this version ${version + 1}`} confirm="Apply" done={() => setDone("It is in force.")}
        run={() => change("PUT", `scheduler-conf/apply${queryOf({ reason, "confirm-within": within ? String(Math.round(Number(within) * 60)) : "" })}`, { property: parse(text) }, { "If-Match": `"${version}"` })}>
        <p>{count(list(p.change).length)} properties change. It is refused if version {version} is no longer in force by then.</p>
        <Field label="Reason" value={reason} onChange={setReason} autoFocus help="for the history" />
        <Field label="Take it back after so many minutes unless it is confirmed" value={within} onChange={setWithin} type="number" help="empty: it stays" />
      </Action>}
    </div>
    {seen?.error !== undefined && <Problem error={seen.error} />}
    {p && <div role="status"><Plan p={p} /></div>}
  </Card>;
}

export function Plan({ p }: { p: any }) {
  return <>
    <h3>{p.accepted ? (list(p.finding).length ? "It would be accepted, with something worth a look" : "It would be accepted") : "It would be refused"}</h3>
    {p.refusal && <Problem error={p.refusal} />}
    {list<any>(p.finding).map((f, i) => <p key={i} className="finding"><strong>{visible(f.kind)}</strong> <T>{f.queuePath}</T>: <T>{f.text}</T> {list<string>(f.application).slice(0, 5).map((a) => <A key={a} to={`/apps/${a}`}>{a} </A>)}</p>)}
    <h3>Properties</h3><Differences of={p.change} label="Properties that change" />
    {list(p.queue).length > 0 && <><h3>Queues</h3><Table label="What queues are entitled to, before and after" heads={["Queue", "State", "Share", "At most", "Effective minimum", "Effective maximum", "Used"]} rows={list<any>(p.queue).map((q) => [
      <><T>{q.queuePath}</T>{q.partition ? <> (<T>{q.partition}</T>)</> : ""}{!q.before && <span className="ins"> + new</span>}{!q.after && <span className="del"> − gone</span>}</>,
      pair(q, (s) => <State of={s.state} />, "state"), pair(q, (s) => percent(s.capacity, 1), "capacity"), pair(q, (s) => percent(s.maxCapacity, 1), "maxCapacity"), pair(q, (s) => <T>{s.effectiveMin}</T>, "effectiveMin"), pair(q, (s) => <T>{s.effectiveMax}</T>, "effectiveMax"), <T>{q.used}</T>])} /></>}
  </>;
}
function pair(q: any, show: (s: any) => React.ReactNode, name: string) {
  const b = q.before, a = q.after;
  if (!b) return <ins>{show(a)}</ins>;
  if (!a) return <del>{show(b)}</del>;
  return b[name] === a[name] ? show(a) : <><del>{show(b)}</del> <ins>{show(a)}</ins></>;
}

function History({ h }: { h: any }) {
  const may = useMay();
  const [reason, setReason] = useState("");
  const versions = list<any>(h.accepted).slice().reverse();
  return <>
    <Card title="Accepted" flat><ol className="history">{versions.slice(0, 200).map((v) => <li key={v.version}>
      <details open={v.version === h.version}><summary><b>{v.version}</b> {moment(v.time)} <T>{v.user}</T> <span className="tag">{visible(v.source)}</span> <T>{v.reason ?? ""}</T> <span className="quiet">{count(list(v.change).length)} changes</span>{v.version === h.version && <span className="tag on">in force</span>}</summary>
        <Differences of={v.change} label={`What version ${v.version} changed`} />
        {may && v.version !== h.version && <div className="buttons left"><Action name={`Roll back to ${v.version}`} title={`Put version ${v.version} in force again`} confirm="Roll back" run={() => change("PUT", `scheduler-conf/rollback${queryOf({ version: v.version, reason })}`, undefined, { "If-Match": `"${h.version}"` })}>
          <RollbackPreview from={h.version} to={v.version} /><Field label="Reason" value={reason} onChange={setReason} autoFocus /></Action></div>}
      </details></li>)}</ol></Card>
    {list(h.refused).length > 0 && <Card title="Refused" flat><Table label="Refused changes" heads={["When", "Who", "Why"]} rows={list<any>(h.refused).slice().reverse().slice(0, 100).map((r) => [moment(r.time), <T>{r.user}</T>, <span className="wrap">{visibleLines(r.why)}</span>])} /></Card>}
  </>;
}
function RollbackPreview({ from, to }: { from: number; to: number }) {
  const d = useGet<{ schedulerConfDiff: any }>(`scheduler-conf/diff?from=${from}&to=${to}`, { every: false });
  return <Wait of={d}><p>This changes:</p><Differences of={d.data?.schedulerConfDiff.change} label="What the rollback changes" /></Wait>;
}

function Diff({ h }: { h: any }) {
  const names: [string, string][] = [["in-force", "in force"], ["file", "capacity-scheduler.xml"], ...list<any>(h.accepted).slice().reverse().map((v) => [String(v.version), `version ${v.version}`] as [string, string])];
  const [from, setFrom] = useState("file"), [to, setTo] = useState("in-force");
  const d = useGet<{ schedulerConfDiff: any }>(`scheduler-conf/diff${queryOf({ from, to })}`, { every: 15_000 });
  const pick = (label: string, value: string, set: (v: string) => void) => <label className="field"><span>{label}</span><select value={value} onChange={(e) => set(e.target.value)}>{names.map(([v, t]) => <option key={v} value={v}>{t}</option>)}</select></label>;
  return <Card flat><div className="filters inset">{pick("From", from, setFrom)}{pick("To", to, setTo)}</div>
    <Wait of={d}><Differences of={d.data?.schedulerConfDiff.change} label="Differences" /></Wait></Card>;
}

function Trial({ t }: { t: any }) {
  const may = useMay();
  return <section className="card attention" aria-label="A change on trial"><div className="card-body"><p>Version {t.version}, by <T>{t.user}</T>, is on trial: it is taken back in {duration(t.deadline - Date.now())} ({moment(t.deadline)}) in favour of version {t.before} unless it is confirmed.</p>
    {may && <div className="buttons left"><Action name="Confirm" title={`Keep version ${t.version}`} confirm="Keep it" run={() => change("PUT", "scheduler-conf/confirm")}><p>Version {t.version} stays in force.</p></Action>
      <Action name="Take it back now" title={`Back to version ${t.before}`} confirm="Take it back" danger run={() => change("PUT", `scheduler-conf/rollback?version=${t.before}`)}><RollbackPreview from={t.version} to={t.before} /></Action></div>}</div></section>;
}
