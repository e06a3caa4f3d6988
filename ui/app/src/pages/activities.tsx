import { list, moment, part, queryOf, useGet, usePlace, setQuery, visible } from "../lib";
import { A, Card, Choice, Note, Page, Search, State, T, Table, Wait } from "../parts";
import { useScheduler } from "./queues";

/** What the scheduler would do with a node, or for an application, if it were its turn now. */
export function Activities() {
  const { query } = usePlace();
  const { scheduler } = useScheduler();
  const app = query.get("app") ?? "", node = query.get("node") ?? "";
  const grouped = query.get("group") !== "no";
  return <Page title="Scheduler activities" aside={<button type="button" className="button" onClick={() => setQuery({ at: String(Date.now() % 1e6) })}>Look again</button>}>
    <div className="filters"><Search name="app" label="Application" /><Search name="node" label="Node" />
      {app && <Choice name="group" label="Nodes" options={[["", "grouped by reason"], ["no", "one by one"]]} />}</div>
    {scheduler && scheduler.kind !== "capacity" ? <Card><Note>Only the CapacityScheduler tells its activities. <A to="/apps?states=ACCEPTED">Applications that wait</A> say why on their own pages.</Note></Card>
      : app ? <ForApp id={app} grouped={grouped} at={query.get("at") ?? ""} /> : <ForNode name={node} at={query.get("at") ?? ""} />}
    <Note>The scheduler is asked what it would do, and does nothing of it. Name an application to see what each node would do for it; without one it is what a node, the first or the one named, would be given.</Note>
  </Page>;
}

const tone: Record<string, string> = { ALLOCATED: "SUCCEEDED", ACCEPTED: "SUCCEEDED", ALLOCATED_FROM_RESERVED: "SUCCEEDED", RESERVED: "ACCEPTED", SKIPPED: "UNDEFINED", REJECTED: "KILLED", RE_RESERVED: "ACCEPTED" };
/** What was done, as a word with a sign. */
function Outcome({ of }: { of: string }) { return <span title={visible(of)}><State of={tone[of] ?? "UNDEFINED"} />{" "}<b>{visible(of).toLowerCase().replace(/_/g, " ")}</b></span>; }

function Because({ of }: { of: unknown }) {
  const [first, ...more] = String(of ?? "").split("\n");
  return of ? <> – <T>{first}</T>{more.length > 0 && <span className="property"><T>{more.join(" ")}</T></span>}</> : null;
}

function ForNode({ name, at }: { name: string; at: string }) {
  const q = useGet<{ activities: any }>(`scheduler/activities${queryOf({ nodeId: name, _: at })}`, { every: 15_000 });
  const x = q.data?.activities;
  return <Wait of={q}>{x && <>
    {x.diagnostic && <Card><Note><T>{x.diagnostic}</T></Note></Card>}
    {list<any>(x.allocations).map((a, i) => <Card key={i} title={<>An offer of <T>{x.nodeId}</T></>} aside={<Outcome of={a.finalAllocationState} />}>
      <p className="quiet">{moment(x.timestamp)}, partition {a.partition ? <T>{a.partition}</T> : "default"}</p>
      <ul className="walk">{a.root && <Step of={a.root} />}</ul>
      {a.heddleCut && <Note>There is more than is shown.</Note>}
    </Card>)}
  </>}</Wait>;
}

/** One step of the walk through queues, applications and what they ask for. */
function Step({ of: x }: { of: any }) {
  const below = list<any>(x.children), name = x.name as string | undefined;
  const what = name === undefined ? (x.nodeId || x.nodeIds ? <>at {nodes(x)}</> : <>request of priority {x.requestPriority}{x.allocationRequestId > 0 && <>, number {x.allocationRequestId}</>}</>)
    : name.startsWith("application_") ? <A to={`/apps/${part(name)}`}>{visible(name)}</A> : name.startsWith("root") ? <A to={`/queues/${part(name)}`}><T>{name}</T></A> : <T>{name}</T>;
  const line = <>{what} <Outcome of={x.allocationState} /><Because of={x.diagnostic} /></>;
  return <li>{below.length === 0 ? line : <><div>{line}</div><ul className="walk">{below.slice(0, 300).map((c, i) => <Step key={i} of={c} />)}{below.length > 300 && <li>and {below.length - 300} more</li>}</ul></>}</li>;
}
function nodes(x: any) {
  const ids = list<string>(x.nodeIds ?? x.nodeId);
  return <>{ids.slice(0, 3).map((n) => <A key={n} to={`/nodes/${part(n)}`}><T>{n}</T> </A>)}{ids.length > 3 && `and ${ids.length - 3} more`}</>;
}

function ForApp({ id, grouped, at }: { id: string; grouped: boolean; at: string }) {
  const q = useGet<{ appActivities: any }>(`scheduler/app-activities/${part(id)}${queryOf({ summarize: grouped ? "true" : "", groupBy: grouped ? "diagnostic" : "", _: at })}`, { every: 15_000 });
  const x = q.data?.appActivities;
  return <Wait of={q}>{x && <>
    {x.diagnostic && <Card><Note><T>{x.diagnostic}</T></Note></Card>}
    {list<any>(x.allocations).slice(0, 100).map((a, i) => <Card key={i} title={<>{a.nodeId ? <>An offer of <A to={`/nodes/${part(a.nodeId)}`}><T>{a.nodeId}</T></A></> : "Offers of all nodes"} to <A to={`/apps/${part(id)}`}>{visible(id)}</A></>} aside={<Outcome of={a.allocationState} />} flat>
      {a.diagnostic && <Note><T>{a.diagnostic}</T></Note>}
      {list<any>(a.children).length > 0 && <Table label="Requests" heads={["Request", "Outcome", "Nodes", "Why"]} rows={list<any>(a.children).flatMap((r) => {
        const parts = list<any>(r.children), ask = `priority ${r.requestPriority}${r.allocationRequestId > 0 ? `, number ${r.allocationRequestId}` : ""}`;
        return parts.length === 0 ? [[ask, <Outcome of={r.allocationState} />, "–", <T>{r.diagnostic ?? "–"}</T>]]
          : parts.map((p) => [ask, <Outcome of={p.allocationState} />, <>{p.count !== undefined && <b>{p.count}: </b>}{nodes(p)}</>, <span className="wrap">{visible(String(p.diagnostic ?? "–").split("\n")[0])}<span className="property">{visible(String(p.diagnostic ?? "").split("\n").slice(1).join(" "))}</span></span>]);
      })} />}
    </Card>)}
  </>}</Wait>;
}
