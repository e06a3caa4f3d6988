import { useEffect, useState } from "react";
import { ago, count, list, memory, percent, useGet } from "../lib";
import { A, Card, Facts, Legend, Page, QueueBar, State, T, Table, Wait, Meter } from "../parts";
import { Chart } from "../chart";
import { schedulerOf } from "../queues";

interface Sample { t: number; used: number; pending: number; running: number; waiting: number }
const samples: Sample[] = []; // since the page was opened; kept while one looks at other pages

export function useTotals() {
  const m = useGet<{ clusterMetrics: any }>("metrics");
  const c = m.data?.clusterMetrics;
  return { query: m, metrics: c, total: { memory: c?.totalMB ?? 0, vCores: c?.totalVirtualCores ?? 0 } };
}

export function Overview() {
  const { query, metrics: m, total } = useTotals();
  const scheduler = useGet<{ scheduler: { schedulerInfo: any } }>("scheduler");
  const about = useGet<{ scheduler: any }>("scheduler-overview", { every: 60_000 });
  const info = useGet<{ clusterInfo: any }>("info");
  const waiting = useGet<{ appList: any }>("app-list?waiting=true&sort=started&order=asc&limit=8");
  const ill = useGet<{ nodeList: any }>("node-list?states=UNHEALTHY,LOST&limit=8");
  const past = useGet<{ metricsPast: any }>("metrics/past", { every: 60_000 });
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!m) return;
    samples.push({ t: Math.round(query.dataUpdatedAt / 1000), used: m.allocatedMB, pending: m.pendingMB, running: m.appsRunning, waiting: m.appsPending });
    if (samples.length > 2000) samples.shift();
    redraw((n) => n + 1);
  }, [query.dataUpdatedAt]);
  const day = withPast(list<any>(past.data?.metricsPast.sample));
  const s = scheduler.data && schedulerOf(scheduler.data.scheduler.schedulerInfo, "", total);
  const i = info.data?.clusterInfo;
  const nodeStates: [string, number, string][] = m ? [["RUNNING", m.activeNodes, "RUNNING"], ["DECOMMISSIONING", m.decommissioningNodes, "DECOMMISSIONING"], ["UNHEALTHY", m.unhealthyNodes, "UNHEALTHY"], ["LOST", m.lostNodes, "LOST"], ["DECOMMISSIONED", m.decommissionedNodes, "DECOMMISSIONED"], ["SHUTDOWN", m.shutdownNodes, "SHUTDOWN"]] : [];
  const appStates: [string, number][] = m ? [["ACCEPTED", m.appsPending], ["RUNNING", m.appsRunning], ["FINISHED", m.appsCompleted], ["FAILED", m.appsFailed], ["KILLED", m.appsKilled]] : [];
  return <Page title="Overview" light="/cluster">
    <Wait of={query}>{m && <>
      <div className="cards four">
        <Total title="Memory" used={m.allocatedMB} reserved={m.reservedMB} pending={m.pendingMB} total={m.totalMB} physical={m.utilizedMBPercent} say={memory} />
        <Total title="VCores" used={m.allocatedVirtualCores} reserved={m.reservedVirtualCores} pending={m.pendingVirtualCores} total={m.totalVirtualCores} physical={m.utilizedVirtualCoresPercent} say={count} />
        <Card title="Applications"><ul className="states">{appStates.map(([state, n]) => <li key={state}><A to={`/apps?states=${state}`}><State of={state} /><b>{count(n)}</b></A></li>)}</ul></Card>
        <Card title="Nodes"><ul className="states">{nodeStates.filter(([, n], k) => k < 4 || n > 0).map(([state, n]) => <li key={state}><A to={`/nodes?states=${state}`}><State of={state} /><b>{count(n)}</b></A></li>)}</ul></Card>
      </div>
      <Attention info={i} ill={ill.data?.nodeList} stuck={list<any>(waiting.data?.appList.app)} />
      <div className="cards two">
        <Card title="Queues" aside={<A to="/queues">All queues</A>}>
          {s && <><ul className="qlist">{(s.root.children.length ? s.root.children : [s.root]).map((q) => <li key={q.path}>
            <A to={`/queues/${encodeURIComponent(q.path)}`}><T>{q.name}</T></A><QueueBar queue={q} resource="memory" scale={total.memory} /><span className="n">{memory(q.used.memory)}</span>
          </li>)}</ul><Legend /></>}
        </Card>
        <Card title="Memory in the last 24 hours"><Chart label="Memory used and pending over time" times={day.map((x) => x.t)} format={memory}
          series={[{ name: "used", color: "--used", values: day.map((x) => x.used) }, { name: "pending", color: "--pending", values: day.map((x) => x.pending) }]} /></Card>
      </div>
      <div className="cards two">
        <Card title="Waiting the longest" aside={<A to="/apps?states=ACCEPTED&sort=started">All that wait</A>} flat>
          <Table label="Applications that wait the longest" heads={["Application", "User", "Queue", "Waits"]} empty="No application waits for its first container."
            rows={list<any>(waiting.data?.appList.app).map((a) => [<A to={`/apps/${a.id}`}>{a.id}</A>, <T>{a.user}</T>, <T>{a.queue}</T>, a.started ? ago(a.started).replace(" ago", "") : "–"])} />
        </Card>
        <Card title="This ResourceManager" aside={<A to="/daemon">Daemon</A>}>
          {i && <Facts>{[["Started", ago(i.startedOn)], ["Role", <State of={i.haState} />], ["Term", i.id], ["Scheduler", visibleType(about.data?.scheduler?.schedulerType)], ["State store", <T>{String(i.rmStateStoreName).split(".").pop()}</T>],
            ["Records set aside", i.heddleRecordsSetAside ? count(i.heddleRecordsSetAside) : "none"], ["Largest container", about.data ? `${memory(about.data.scheduler.maximumAllocation.memory)}, ${count(about.data.scheduler.maximumAllocation.vCores)} vcores` : "–"]]}</Facts>}
        </Card>
      </div>
    </>}</Wait>
  </Page>;
}
const visibleType = (t: unknown) => <T>{t ?? "–"}</T>;

function Total({ title, used, reserved, pending, total, physical, say }: { title: string; used: number; reserved: number; pending: number; total: number; physical: number; say: (n: number) => string }) {
  return <Card title={title}>
    <p className="big">{percent(total ? (used * 100) / total : 0)}<small> of {say(total)} allocated</small></p>
    <Meter value={used} of={total} label={`${title} allocated`} second={physical} secondLabel="really used" />
    <Facts>{[["allocated", say(used)], ["really used", percent(physical)], ["reserved", say(reserved)], ["pending", say(pending)]]}</Facts>
  </Card>;
}

/** What the server remembers, and after it what this page has seen since. */
function withPast(before: any[]): Sample[] {
  const own = samples[0]?.t ?? Infinity;
  return [...before.map((x) => ({ t: Math.round(x.time / 1000), used: x.usedMB, pending: x.pendingMB, running: x.appsRunning, waiting: x.appsWaiting })).filter((x) => x.t < own), ...samples];
}

const stuckAfter = 3600_000;
function Attention({ info, ill, stuck }: { info: any; ill: any; stuck: any[] }) {
  const said: React.ReactNode[] = list<any>(ill?.node).map((n) => <><A to={`/nodes/${encodeURIComponent(n.id)}`}>{n.id}</A> is {String(n.state).toLowerCase()}{n.health ? <>: <T>{n.health}</T></> : ""}</>);
  if (info?.heddleRecordsSetAside) said.push(<>{info.heddleRecordsSetAside} records of the state store could not be used; <A to="/daemon">which and why</A></>);
  if (info?.heddleAllocationFileProblem) said.push(<>The allocation file is not in force: <T>{info.heddleAllocationFileProblem}</T></>);
  for (const a of stuck.filter((x) => x.started && Date.now() - x.started > stuckAfter).slice(0, 3)) said.push(<><A to={`/apps/${a.id}`}>{a.id}</A> of <T>{a.user}</T> has waited for {ago(a.started).replace(" ago", "")}</>);
  if (info?.heddleStandbyCopy && !info.heddleStandbyCopy.whole) said.push(<>The copy of the state store is not whole: <T>{info.heddleStandbyCopy.why}</T></>);
  if (said.length === 0) return null;
  return <Card title="Needs attention" className="attention"><ul>{said.map((x, k) => <li key={k}>{x}</li>)}</ul></Card>;
}
