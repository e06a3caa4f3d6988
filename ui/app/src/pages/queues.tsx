import { useContext, useState } from "react";
import { Button, Tree, TreeItem, TreeItemContent } from "react-aria-components";
import { amount, count, go, list, memory, percent, useGet, usePlace, visible } from "../lib";
import { Refresh } from "./refresh";
import { A, Action, Card, Choice, Facts, Legend, Note, Page, QueueBar, SessionContext, State, T, Table, useMay, Wait } from "../parts";
import { all, find, schedulerOf, type Queue, type Res, type Scheduler } from "../queues";
import { useTotals } from "./overview";
import { change } from "../lib";

export function useScheduler() {
  const { query: place } = usePlace();
  const partition = place.get("partition") ?? "";
  const { total } = useTotals();
  const q = useGet<{ scheduler: { schedulerInfo: any } }>("scheduler");
  return { query: q, partition, total, scheduler: q.data && schedulerOf(q.data.scheduler.schedulerInfo, partition, total) };
}
export function useResource(): keyof Res { return usePlace().query.get("resource") === "vCores" ? "vCores" : "memory"; }

function Switches({ scheduler }: { scheduler: Scheduler }) {
  return <div className="filters">
    <Choice name="resource" label="Resource" options={[["", "Memory"], ["vCores", "VCores"]]} />
    {scheduler.partitions.length > 1 && <Choice name="partition" label="Partition" options={scheduler.partitions.map((p) => [p, p === "" ? "default" : visible(p)])} />}
  </div>;
}

export function Queues() {
  const { query, scheduler, total } = useScheduler();
  const resource = useResource();
  return <Page title="Queues" light="/cluster/scheduler" aside={<Refresh what="queues" />}>
    <Wait of={query}>{scheduler && <>
      <Switches scheduler={scheduler} />
      <Card flat><QueueTree scheduler={scheduler} resource={resource} scale={scheduler.root.max[resource] || total[resource]} /></Card>
      <Legend />
      {scheduler.kind === "fair" && <Note>The guarantee of a queue is its instantaneous fair share.</Note>}
    </>}</Wait>
  </Page>;
}

function QueueTree({ scheduler, resource, scale }: { scheduler: Scheduler; resource: keyof Res; scale: number }) {
  const parents = all(scheduler.root).filter((q) => q.children.length > 0).map((q) => q.path);
  const [open, setOpen] = useState<Set<string> | undefined>(); // all of a tree of up to 200 queues, else the first two levels
  const shown = open ?? new Set(all(scheduler.root).length <= 200 ? parents : parents.filter((p) => p.split(".").length < 3));
  return <div className="wide">
    <div className="tree-head" aria-hidden="true"><span>Queue</span><span>{resource === "memory" ? "Memory" : "VCores"}, of the whole partition</span><span className="n">Used</span><span className="n">{scheduler.kind === "fair" ? "Fair share" : "Guarantee"}</span><span className="n">Pending</span><span className="n">Running</span><span className="n">Waiting</span><span>State</span></div>
    <Tree aria-label="Queues" className="tree" selectionMode="none" expandedKeys={shown} onExpandedChange={(k) => setOpen(new Set([...k].map(String)))} onAction={(k) => go(`/ui/queues/${encodeURIComponent(String(k))}`)}>
      {row(scheduler.root, resource, scale, 0)}
    </Tree>
  </div>;
}

function row(q: Queue, resource: keyof Res, scale: number, depth: number): React.JSX.Element {
  const say = (n: number) => amount(resource, n);
  return <TreeItem key={q.path} id={q.path} textValue={`${visible(q.name)}, used ${say(q.used[resource])} of ${say(q.guarantee[resource])} guaranteed, pending ${say(q.pending[resource])}, ${q.running} running, ${q.waiting} waiting`}>
    <TreeItemContent>{({ hasChildItems, isExpanded }) => <span className="tree-row">
      <span className="tree-name" style={{ paddingLeft: `${depth * 1.1}rem` }}>
        {hasChildItems ? <Button slot="chevron" className="chevron" aria-label={isExpanded ? "Close" : "Open"}><span aria-hidden="true">{isExpanded ? "▾" : "▸"}</span></Button> : <span className="chevron" />}
        <A to={`/queues/${encodeURIComponent(q.path)}`}><T>{q.name}</T></A>
      </span>
      <QueueBar queue={q} resource={resource} scale={scale} />
      <span className="n">{say(q.used[resource])}</span><span className="n">{say(q.guarantee[resource])}</span><span className="n">{say(q.pending[resource])}</span><span className="n">{count(q.running)}</span><span className="n">{count(q.waiting)}</span>
      <span><State of={q.state} />{q.preemption === false && q.leaf && <span className="tag" title="Nothing is preempted from this queue">kept</span>}</span>
    </span>}</TreeItemContent>
    {q.children.map((c) => row(c, resource, scale, depth + 1))}
  </TreeItem>;
}

/** Where a value of the CapacityScheduler's configuration comes from: the queue's own property, an ancestor's, the whole cluster's or the default. */
interface Setting { value: string; origin?: string }
function source(values: Map<string, Setting> | undefined, path: string, name: string, inherited: boolean, global?: string): [string, string] | undefined {
  if (!values) return undefined;
  const own = `yarn.scheduler.capacity.${path}.${name}`;
  if (values.has(own)) return ["own", own];
  if (inherited) for (let p = path; p.includes(".");) {
    p = p.slice(0, p.lastIndexOf("."));
    const key = `yarn.scheduler.capacity.${p}.${name}`;
    if (values.has(key)) return [`inherited from ${p}`, key];
  }
  if (global && values.has(`yarn.scheduler.capacity.${global}`)) return ["all queues", `yarn.scheduler.capacity.${global}`];
  return ["default", own];
}

export function QueuePage({ path }: { path: string }) {
  const { query, scheduler, total } = useScheduler();
  const resource = useResource();
  const session = useContext(SessionContext);
  const conf = useGet<{ queueSettings: any }>(scheduler?.kind === "capacity" ? `queues/${encodeURIComponent(path)}/settings` : null, { every: 30_000 });
  const dynamic = useGet<any>(scheduler?.kind === "fair" ? `queues/${path.split(".").map(encodeURIComponent).join(".")}` : null, { every: 30_000 });
  const access = useGet<any>(session ? `queues/${encodeURIComponent(path)}/access?user=${encodeURIComponent(session.user)}` : null, { every: false });
  const apps = useGet<{ appList: any }>(`app-list?queue=${encodeURIComponent(path)}&states=SUBMITTED,ACCEPTED,RUNNING&limit=20`);
  const q = scheduler && find(scheduler.root, path);
  const values = conf.data && !conf.error ? new Map<string, Setting>(list<any>(conf.data.queueSettings.property).map((p) => [String(p.name), { value: String(p.value), origin: p.origin }])) : undefined;
  const kept = list<any>(dynamic.data?.queue ?? dynamic.data?.queues?.queue)[0] ?? dynamic.data?.queue;
  return <Page title={<>Queue <T>{path}</T></>} light="/cluster/scheduler" aside={q && (q.leaf && scheduler.kind === "capacity" ? <StopStart q={q} /> : kept?.deletable ? <Delete path={q.path} /> : undefined)}>
    <Wait of={query}>{scheduler && !q && <Note>There is no queue <T>{path}</T>. <A to="/queues">All queues</A></Note>}{scheduler && q && <>
      <p className="crumbs">{crumbs(q).map((p) => <span key={p.path}><A to={`/queues/${encodeURIComponent(p.path)}`}><T>{p.name}</T></A> › </span>)}<State of={q.state} /></p>
      <Switches scheduler={scheduler} />
      <Card title="Share"><QueueBar queue={q} resource={resource} scale={scheduler.root.max[resource] || total[resource]} /><Legend />
        <Facts>{[["Used", both(q.used)], [scheduler.kind === "fair" ? "Instantaneous fair share" : "Effective minimum", both(q.guarantee)], ["Effective maximum", both(q.max)], ["Pending", both(q.pending)], ["Reserved", both(q.reserved)],
          ...(q.leaf ? [["ApplicationMasters", `${both(q.amUsed)} of ${both(q.amLimit)}`] as [React.ReactNode, React.ReactNode]] : []), ...(q.demand ? [["Demand", both(q.demand)], ["Steady fair share", both(q.steady!)]] as [React.ReactNode, React.ReactNode][] : []),
          ["Running applications", count(q.running)], ["Waiting applications", count(q.waiting)], ["Containers", count(q.containers)]]}</Facts></Card>
      <div className="cards two">
        {q.leaf && <Card title="Users" flat><Table label="Users of this queue" heads={["User", "Used", "Limit", "AM used", "Running", "Waiting"]} empty="Nobody has an application here."
          rows={list<any>(q.raw.users?.user ?? q.raw.users).filter((u) => u?.username).map((u) => [<T>{u.username}</T>, both(u.resourcesUsed), both(u.userResourceLimit), both(u.AMResourceUsed), count(u.numActiveApplications), count(u.numPendingApplications)])} /></Card>}
        {q.children.length > 0 && <Card title="Queues below" flat><Table label="Queues below" heads={["Queue", "Used", "Guarantee", "Running", "Waiting", "State"]} rows={q.children.map((c) => [<A to={`/queues/${encodeURIComponent(c.path)}`}><T>{c.name}</T></A>, both(c.used), both(c.guarantee), count(c.running), count(c.waiting), <State of={c.state} />])} /></Card>}
        <Card title="Applications here" aside={<A to={`/apps?queue=${encodeURIComponent(path)}`}>All</A>} flat><Table label="Applications of this queue" heads={["Application", "User", "State", "Memory", "Pending"]} empty="No application runs or waits here."
          rows={list<any>(apps.data?.appList.app).map((a) => [<A to={`/apps/${a.id}`}>{a.id}</A>, <T>{a.user}</T>, <State of={a.state} />, memory(a.memoryMB), memory(a.pendingMB)])} /></Card>
        <Card title="Rights" flat><Table label="Access lists" heads={["Right", "Who"]} rows={[...list<any>(q.raw.queueAcls?.queueAcl).map((x) => [<T>{x.accessType}</T>, x.accessControlList?.trim() ? <T>{x.accessControlList}</T> : "nobody but administrators"]),
          ...(access.data && session ? [[<>You, <T>{session.user}</T></>, rights(access.data)]] : [])]} empty="This scheduler shows no access lists." /></Card>
      </div>
      {scheduler.kind === "fair" && <Card title="Limits"><Facts>{[["Min Resources", both(q.raw.minResources)], ["Max Resources", both(q.raw.maxResources)], ["Max Running Applications", count(q.raw.maxApps)], ["Largest container", both(q.raw.maxContainerAllocation)],
        ["Scheduling Policy", <T>{q.raw.schedulingPolicy}</T>], ["Preemption", q.raw.preemptable ? "enabled" : "disabled"],
        ...(kept?.dynamic !== undefined ? [["Made by", kept.dynamic ? "an application; the allocation file does not name it" : "the allocation file"] as [React.ReactNode, React.ReactNode]] : []),
        ...(kept?.keptBecause ? [["Not deleted, because", <T>{kept.keptBecause}</T>] as [React.ReactNode, React.ReactNode]] : [])]}</Facts>
        <Note>They are in the allocation file. <A to="/daemon">Which it is</A></Note></Card>}
      {scheduler.kind === "capacity" && <Card title="Limits, and where they come from" flat>
        <Table label="Limits" heads={["Limit", "Value", "Source", "Property", "Written at"]} rows={limits(q, values)} />
        {conf.error && <Note>The properties behind the limits are not shown: {visible(conf.error.message)}</Note>}
      </Card>}
    </>}</Wait>
  </Page>;
}
const both = (r: any) => (r ? `${memory(Number(r.memory ?? 0))}, ${count(Number(r.vCores ?? 0))} vcores` : "–");
function rights(a: any): string {
  return String(a?.rmQueueAclInfo?.allowed) === "true" ? "may submit" : "may not submit";
}
function crumbs(q: Queue): Queue[] { const out: Queue[] = []; for (let p = q.parent; p; p = p.parent) out.unshift(p); return out; }

function limits(q: Queue, values: Map<string, Setting> | undefined): React.ReactNode[][] {
  const r = q.raw, rows: React.ReactNode[][] = [];
  const add = (name: string, value: React.ReactNode, property: string, inherited = false, global?: string) => {
    const from = source(values, q.path, property, inherited, global);
    rows.push([name, value, from ? visible(from[0]) : "–", from ? <code>{visible(from[1])}</code> : "–", from && values?.get(from[1])?.origin ? <T>{values.get(from[1])!.origin}</T> : "–"]);
  };
  add("Configured capacity", r.weight >= 0 ? `weight ${r.weight}` : percent(r.capacity, 1), "capacity");
  add("Absolute capacity", percent(r.absoluteCapacity ?? r.capacity, 1), "capacity");
  add("Configured maximum capacity", percent(r.maxCapacity, 1), "maximum-capacity");
  if (r.maxParallelApps !== undefined) add("Applications that run at once", count(r.maxParallelApps), "max-parallel-apps", false, "max-parallel-apps");
  if (q.leaf) {
    add("Share for ApplicationMasters", percent((r.configuredMaxAMResourceLimit ?? 0) * 100, 1), "maximum-am-resource-percent", false, "maximum-am-resource-percent");
    add("Applications at most", count(r.maxApplications), "maximum-applications", false, "maximum-applications");
    add("Applications of a user at most", count(r.maxApplicationsPerUser), "maximum-applications");
    add("Configured minimum user limit", percent(r.userLimit, 0), "minimum-user-limit-percent", false, "minimum-user-limit-percent");
    add("User limit factor", r.userLimitFactor, "user-limit-factor", false, "user-limit-factor");
    add("Ordering policy", <T>{r.orderingPolicyInfo}</T>, "ordering-policy");
    add("Preemption", r.preemptionDisabled ? "disabled" : "enabled", "disable_preemption", true);
    add("Preemption within the queue", r.intraQueuePreemptionDisabled ? "disabled" : "enabled", "intra-queue-preemption.disable_preemption", true);
    add("Default priority", r.defaultPriority, "default-application-priority");
    add("Longest lifetime", r.maxApplicationLifetime > 0 ? `${r.maxApplicationLifetime} s` : "no limit", "maximum-application-lifetime", true);
  }
  add("Largest container", both(r.maximumAllocation), "maximum-allocation-mb", true);
  add("Node labels", <T>{list(r.nodeLabels).join(", ") || "none"}</T>, "accessible-node-labels", true);
  add("Queue priority", r.queuePriority, "priority");
  return rows;
}

function Delete({ path }: { path: string }) {
  const may = useMay();
  if (!may) return null;
  return <Action name="Delete queue" title={`Delete ${visible(path)}`} confirm="Delete" danger done={() => go("/ui/queues")} run={() => change("DELETE", `queues/${path.split(".").map(encodeURIComponent).join(".")}`)}>
    <p>The queue is empty and the allocation file does not name it. It is made again when an application names it.</p>
  </Action>;
}

function StopStart({ q }: { q: Queue }) {
  const may = useMay();
  if (!may) return null;
  const stop = q.state === "RUNNING";
  return <Action name={stop ? "Stop queue" : "Start queue"} title={`${stop ? "Stop" : "Start"} ${visible(q.path)}`} confirm={stop ? "Stop" : "Start"} danger={stop}
    run={() => change("PUT", "scheduler-conf?reason=web+interface", { "update-queue": { "queue-name": q.path, params: { entry: { key: "state", value: stop ? "STOPPED" : "RUNNING" } } } })}>
    <p>{stop ? `The queue takes no more applications. Its ${q.running} running and ${q.waiting} waiting applications go on.` : "The queue takes applications again."} It is a change of the queues' configuration, and is in its history.</p>
  </Action>;
}
