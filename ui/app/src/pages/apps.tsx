import { useState } from "react";
import { ago, change, count, duration, Failure, list, memory, moment, part, percent, safe, useGet, usePlace, visible } from "../lib";
import { A, Action, Card, Choice, Facts, Field, Lines, Meter, Note, Page, Problem, QueueBar, Search, State, T, Table, useMay, Wait, Window, type Column } from "../parts";
import { all, find } from "../queues";
import { Logs } from "./logs";
import { useScheduler } from "./queues";

const states: [string, string][] = [["", "All states"], ["SUBMITTED,ACCEPTED,RUNNING", "Not ended"], ["ACCEPTED", "Accepted"], ["RUNNING", "Running"], ["FINISHED", "Finished"], ["FAILED", "Failed"], ["KILLED", "Killed"], ["NEW,NEW_SAVING,SUBMITTED", "New"]];

const columns: Column<any>[] = [
  { key: "id", title: "Application", sort: "id", width: "16.5rem", cell: (a) => <A to={`/apps/${a.id}`}>{a.id}</A> },
  { key: "name", title: "Name", sort: "name", width: "minmax(8rem, 1.4fr)", cell: (a) => <T>{a.name}</T> },
  { key: "user", title: "User", sort: "user", width: "minmax(5rem, .6fr)", cell: (a) => <T>{a.user}</T> },
  { key: "queue", title: "Queue", sort: "queue", width: "minmax(8rem, .9fr)", cell: (a) => <T>{a.queue}</T> },
  { key: "state", title: "State", sort: "state", width: "7rem", cell: (a) => <State of={a.state === "FINISHED" && a.finalStatus !== "SUCCEEDED" ? a.finalStatus : a.state} /> },
  { key: "progress", title: "Progress", sort: "progress", width: "6rem", cell: (a) => (a.hidden ? "–" : a.state === "RUNNING" ? <Meter value={a.progress} of={100} label="Progress" /> : "") },
  { key: "containers", title: "Containers", sort: "containers", width: "5.5rem", number: true, cell: (a) => (a.containers === undefined ? "" : count(a.containers)) },
  { key: "memory", title: "Memory", sort: "memory", width: "6rem", number: true, cell: (a) => (a.memoryMB === undefined ? "" : memory(a.memoryMB)) },
  { key: "pending", title: "Pending", sort: "pending", width: "6rem", number: true, cell: (a) => (a.pendingMB ? memory(a.pendingMB) : "") },
  { key: "started", title: "Started", sort: "started", width: "10rem", cell: (a) => moment(a.started) },
  { key: "type", title: "Type", sort: "type", width: "6rem", cell: (a) => <T>{a.type}</T> },
  { key: "priority", title: "Priority", sort: "priority", width: "5rem", number: true, cell: (a) => a.priority },
  { key: "finished", title: "Finished", sort: "finished", width: "10rem", cell: (a) => moment(a.finished) },
];

export function Applications() {
  const { query } = usePlace();
  const may = useMay();
  const [n, setN] = useState<[number, number]>();
  const [chosen, setChosen] = useState(new Set<string>());
  const filters = { q: query.get("q") ?? "", states: query.get("states") ?? "", user: query.get("user") ?? "", queue: query.get("queue") ?? "", applicationTypes: query.get("applicationTypes") ?? "", applicationTags: query.get("applicationTags") ?? "" };
  const sort = query.get("sort");
  return <Page title="Applications" light="/cluster/apps" aside={<span className="quiet" role="status">{n && (n[0] === n[1] ? `${count(n[1])} in all` : `${count(n[0])} of ${count(n[1])}`)}</span>}>
    <div className="filters">
      <Search name="q" label="Id, name, user or queue" /><Choice name="states" label="State" options={states} />
      <Search name="user" label="User" /><Search name="queue" label="Queue" /><Search name="applicationTypes" label="Type" /><Search name="applicationTags" label="Tag" />
      {may && <Bulk chosen={chosen} clear={() => setChosen(new Set())} />}
    </div>
    <Window label="Applications" path="app-list" root="appList" item="app" columns={columns} minWidth="94rem" keyOf={(a: any) => a.id} filters={{ ...filters, ...(sort ? {} : { sort: "" }) }}
      onCount={(a, b) => setN([a, b])} selected={may ? chosen : undefined} onSelect={may ? setChosen : undefined} />
  </Page>;
}

/** Ends several applications, one after the other; what failed is said. */
function Bulk({ chosen, clear }: { chosen: Set<string>; clear: () => void }) {
  const ids = [...chosen];
  return <Action name={`Kill ${chosen.size || ""} chosen`} title={`Kill ${chosen.size} applications`} confirm="Kill them" danger disabled={chosen.size === 0} done={clear} run={async () => {
    const failed: string[] = [];
    for (const id of ids) try { await kill(id, "killed in the web interface"); } catch (e) { failed.push(`${id}: ${(e as Error).message}`); }
    if (failed.length) throw new Error(failed.join("\n"));
  }}>
    <p>These end at once, with all their containers; work that they have not stored is lost.</p>
    <Preview ids={ids} />
  </Action>;
}
function Preview({ ids }: { ids: string[] }) {
  return <ul className="scroll" tabIndex={0} aria-label="Applications that will be killed">{ids.slice(0, 200).map((id) => <PreviewRow key={id} id={id} />)}{ids.length > 200 && <li>and {ids.length - 200} more</li>}</ul>;
}
function PreviewRow({ id }: { id: string }) {
  const a = useGet<{ app: any }>(`apps/${id}?deSelects=resourceRequests,timeouts,resourceInfo`, { every: false }).data?.app;
  return <li>{id}{a && <> · <T>{a.name}</T> · <T>{a.user}</T> · {String(a.state).toLowerCase()} · {count(Math.max(0, a.runningContainers))} containers, {memory(Math.max(0, a.allocatedMB))}</>}</li>;
}

async function kill(id: string, why: string) {
  for (let i = 0; i < 20; i++) { // 202: it is not stored yet that it ends
    const answer = await change<{ state?: string }>("PUT", `apps/${part(id)}/state`, { state: "KILLED", diagnostics: why });
    if (answer.state === "KILLED" || answer.state === undefined) return;
    await new Promise((f) => setTimeout(f, 250));
  }
  throw new Failure(0, `${id} has not ended within 5 s. It is asked to; look again.`);
}

export function Application({ id }: { id: string }) {
  const q = useGet<{ app: any }>(`apps/${part(id)}`);
  const why = useGet<{ why: any }>(q.data ? `apps/${part(id)}/why` : null);
  const attempts = useGet<{ appAttempts: any }>(q.data ? `apps/${part(id)}/appattempts` : null);
  const a = q.data?.app;
  const tries = list<any>(attempts.data?.appAttempts?.appAttempt);
  const last = tries.at(-1);
  const containers = useGet<any>(a && a.state === "RUNNING" && last ? `apps/${part(id)}/appattempts/${part(last.appAttemptId ?? "")}/containers` : null);
  const ended = a && ["FINISHED", "FAILED", "KILLED"].includes(a.state);
  const tracking = safe(a?.trackingUrl), logs = safe(a?.amContainerLogs);
  return <Page title={<>{visible(id)}</>} light={`/cluster/app/${part(id)}`} aside={a && !ended ? <AppActions a={a} /> : undefined}>
    <Wait of={q}>{a && <>
      <p className="lead"><State of={a.state === "FINISHED" ? a.finalStatus : a.state} /> <strong><T>{a.name}</T></strong> of <T>{a.user}</T> in <A to={`/queues/${part(a.queue)}`}><T>{a.queue}</T></A></p>
      {why.error && <Problem error={why.error} />}
      {why.data?.why.waiting && <Why w={why.data.why} id={id} />}
      <div className="cards two">
        <Card title="What it has">
          {!ended && <><Meter value={a.progress} of={100} label="Progress" /></>}
          <Facts>{[["Progress", percent(a.progress, 0)], ["Containers", ended ? "none" : count(a.runningContainers)], ["Memory", ended ? "none" : memory(a.allocatedMB)], ["VCores", ended ? "none" : count(a.allocatedVCores)], ["Reserved", ended ? "none" : memory(a.reservedMB)],
            ["Share of its queue", percent(a.queueUsagePercentage, 1)], ["Memory over time", `${count(Math.round(a.memorySeconds / 3600 / 1024))} GiB-hours`], ["VCores over time", `${count(Math.round(a.vcoreSeconds / 3600))} vcore-hours`],
            ["Preempted", `${count(a.numNonAMContainerPreempted + a.numAMContainerPreempted)} containers, ${memory(a.preemptedResourceMB)}`]]}</Facts>
        </Card>
        <Card title="What it is">
          <Facts>{[["Type", <T>{a.applicationType}</T>], ["Tags", <T>{a.applicationTags || "none"}</T>], ["Priority", a.priority], ["Started", moment(a.startedTime)], ["Launched", moment(a.launchTime)], ["Finished", moment(a.finishedTime)], ["Took", duration(a.elapsedTime)],
            ["Partition asked for", <T>{a.appNodeLabelExpression || "default"}</T>], ["Log aggregation", <T>{String(a.logAggregationStatus ?? "–").toLowerCase().replace(/_/g, " ")}</T>],
            ["Tracking", tracking ? <a href={tracking} rel="noreferrer">{a.trackingUI === "History" ? "History" : "ApplicationMaster"}</a> : "none yet"], ["Master's logs", logs ? <a href={logs} rel="noreferrer">Logs</a> : "none yet"]]}</Facts>
        </Card>
      </div>
      <Card title="Timeline"><Timeline a={a} tries={tries} /></Card>
      {list<any>(why.data?.why.preemption).length > 0 && <Card title="Preemption"><ul>{list<string>(why.data!.why.preemption).map((s, i) => <li key={i}><T>{s}</T></li>)}</ul></Card>}
      {list<any>(a.resourceRequests).length > 0 && <Card title="What it asks for" flat><Table label="Requests" heads={["Containers", "Each", "Where", "Priority", "Locality", "Partition"]}
        rows={list<any>(a.resourceRequests).slice(0, 100).map((r) => [count(r.numContainers), `${memory(r.capability?.memory)}, ${count(r.capability?.vCores)} vcores`, r.resourceName === "*" ? "anywhere" : <T>{r.resourceName}</T>, r.priority?.priority ?? r.priority, r.relaxLocality ? "may be elsewhere" : "only there", <T>{r.nodeLabelExpression || "default"}</T>])} /></Card>}
      <Card title="Attempts" flat><Table label="Attempts" heads={["Attempt", "State", "Started", "Finished", "Node", "Logs"]} empty="No attempt yet."
        rows={tries.map((t) => [<T>{t.appAttemptId ?? t.id}</T>, t.appAttemptState ? <State of={t.appAttemptState} /> : "–", moment(t.startTime ?? t.startedTime), moment(t.finishedTime), t.nodeId ? <A to={`/nodes/${part(t.nodeId)}`}><T>{t.nodeId}</T></A> : "–", safe(t.logsLink) ? <a href={safe(t.logsLink)} rel="noreferrer">Logs</a> : "–"])} /></Card>
      {containers.data && <Card title="Containers" flat><Table label="Containers" heads={["Container", "Node", "Memory", "VCores", "Priority", "Started", "State", "Logs"]} empty="None runs."
        rows={list<any>(containers.data.container ?? containers.data.containers?.container).slice(0, 500).map((c) => [<T>{c.containerId}</T>, <A to={`/nodes/${part(c.nodeId)}`}><T>{c.nodeId}</T></A>, memory(c.allocatedMB), count(c.allocatedVCores), c.priority, moment(c.startedTime), <State of={c.containerState} />, safe(c.logUrl) ? <a href={safe(c.logUrl)} rel="noreferrer">Logs</a> : "–"])} /></Card>}
      <Logs attempts={tries} containers={list<any>(containers.data?.container ?? containers.data?.containers?.container)} running={a.state === "RUNNING"} />
      {a.diagnostics && <Card title="Diagnostics"><Lines>{a.diagnostics}</Lines></Card>}
    </>}</Wait>
  </Page>;
}

const amount = (r: any) => (r ? `${memory(r.memoryMB)}, ${count(r.vCores)} vcores` : "–");

/** Why it waits: the sentence, then every limit that holds it, with what would lift each. */
function Why({ w, id }: { w: any; id: string }) {
  const text = visible(w.reason), at = text.lastIndexOf(";"), gates = list<any>(w.gates?.gate);
  const setting = at > 0 && /^\s*yarn\./.test(text.slice(at + 1)) ? text.slice(at + 1).trim() : "";
  const helps = (g: any) => <>
    {g.never && <div>nothing: no node is so large</div>}
    {list<any>(g.change).map((x, i) => <div key={i}><code><T>{x.name}</T></code> = <T>{x.value}</T></div>)}
    {g.act && <div><T>{g.act.text}</T>{g.act.command && <> <code><T>{g.act.command}</T></code></>}</div>}
    {!g.never && g.lacks && <div>{amount(g.lacks)} more</div>}
    {list<any>(g.holders).map((h, i) => <div key={i}><A to={`/apps/${part(h.appId)}`}><T>{h.appId}</T></A> of <T>{h.user}</T> has {amount(h)}</div>)}
  </>;
  return <Card title="Why it waits" className="why">
    <p className="reason">{setting ? text.slice(0, at) : text}</p>
    {setting && <p>Governed by <code>{setting}</code></p>}
    {w.since > 0 && <p>Since {moment(w.since)}, {ago(w.since)}</p>}
    {w.line && <p>Number {count(w.line.place)} of {count(w.line.of)} in <T>{w.line.queue}</T> that wait for {w.line.for}</p>}
    {list<any>(w.impossible).map((x, i) => <p key={i}><T>{x.text}</T></p>)}
    <p><A to={`/activities?app=${part(id)}`}>What each node would do for it now</A></p>
    {gates.length > 0 && <Table label="Limits that hold it" heads={["Limit", "Needed", "Allowed", "Set by", "Would lift it"]}
      rows={gates.map((g) => [<T>{g.text}</T>, amount(g.needed), amount(g.limit), g.setting ? <><code><T>{g.setting}</T></code>{g.origin && <div><T>{g.origin}</T></div>}</> : "–", helps(g)])} />}
  </Card>;
}

function Timeline({ a, tries }: { a: any; tries: any[] }) {
  const from = a.startedTime, to = a.finishedTime || Date.now();
  if (!from) return <Note>Its times are not yours to see.</Note>;
  const at = (t: number) => `${Math.min(100, Math.max(0, ((t - from) * 100) / Math.max(1, to - from)))}%`;
  const bar = (start: number, end: number, kind: string, text: string, key: React.Key) => <div key={key} className="lane"><span className="lane-name">{text}</span><span className="lane-room"><span className={`lane-bar ${kind}`} style={{ left: at(start), width: `max(2px, calc(${at(end)} - ${at(start)}))` }} /></span><span className="lane-time">{duration(end - start)}</span></div>;
  const firstStart = tries.length ? Number(tries[0].startTime ?? tries[0].startedTime) : 0;
  const launched = a.launchTime || 0;
  return <div className="timeline">
    {bar(from, launched || (a.finishedTime || Date.now()), "wait", "waits for its master", "w")}
    {tries.map((t, i) => {
      if (i === 0 && !launched) return null; // what there is of it is the wait
      const s = Number(t.startTime ?? t.startedTime) || firstStart, e = Number(t.finishedTime) || (i + 1 < tries.length ? Number(tries[i + 1].startTime ?? tries[i + 1].startedTime) : a.finishedTime || Date.now());
      return bar(Math.max(s, i === 0 && launched ? launched : s), e, t.appAttemptState === "FAILED" || (i + 1 < tries.length) ? "bad" : "run", `attempt ${i + 1}`, i);
    })}
    <p className="quiet">{moment(from)} to {a.finishedTime ? moment(to) : "now"}</p>
  </div>;
}

function AppActions({ a }: { a: any }) {
  const may = useMay();
  const [queue, setQueue] = useState(""), [priority, setPriority] = useState(String(a.priority));
  const [reason, setReason] = useState("");
  const { scheduler, total } = useScheduler();
  if (!may) return null;
  const target = scheduler && queue ? find(scheduler.root, queue) ?? all(scheduler.root).find((q) => q.name === queue) : undefined;
  const holds = `${count(Math.max(0, a.runningContainers))} containers with ${memory(Math.max(0, a.allocatedMB))} and ${count(Math.max(0, a.allocatedVCores))} vcores`;
  return <span className="actions">
    <Action name="Move" title={`Move ${a.id}`} confirm="Move it" run={() => change("PUT", `apps/${part(a.id)}/queue`, { queue })}>
      <p>It is in <T>{a.queue}</T> and has {holds}. They go with it and count in the other queue at once.</p>
      <label className="field column"><span>To queue</span><select autoFocus value={queue} onChange={(e) => setQueue(e.target.value)}><option value="">Choose a queue</option>
        {scheduler && all(scheduler.root).filter((q) => q.leaf && q.path !== a.queue).map((q) => <option key={q.path} value={q.path}>{visible(q.path)}</option>)}</select></label>
      {target && <><p>After the move <T>{target.path}</T> uses {memory(target.used.memory + Math.max(0, a.allocatedMB))} of {memory(target.guarantee.memory)} guaranteed, at most {memory(target.max.memory)}.</p>
        <QueueBar resource="memory" scale={total.memory} queue={{ ...target, used: { memory: target.used.memory + Math.max(0, a.allocatedMB), vCores: 0 } }} /></>}
    </Action>
    <Action name="Priority" title={`Priority of ${a.id}`} confirm="Set" run={() => change("PUT", `apps/${part(a.id)}/priority`, { priority: Number(priority) })}>
      <p>It is {a.priority}. A higher one goes before others of its queue; more than the cluster or the queue allows is lowered.</p>
      <Field label="Priority" value={priority} onChange={setPriority} type="number" autoFocus />
    </Action>
    <Action name="Kill" title={`Kill ${a.id}`} confirm="Kill it" danger run={() => kill(a.id, reason || "killed in the web interface")}>
      <p><strong><T>{a.name}</T></strong> of <T>{a.user}</T> ends at once: {holds}. Work that it has not stored is lost.</p>
      <Field label="Reason, for its diagnostics" value={reason} onChange={setReason} autoFocus />
    </Action>
  </span>;
}
