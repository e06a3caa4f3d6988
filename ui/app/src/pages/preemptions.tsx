import { ago, count, duration, list, memory, moment, queryOf, useGet, usePlace } from "../lib";
import { A, Card, Choice, Note, Page, Search, T, Table, Wait } from "../parts";

const meanings: Record<string, string> = { noticed: "goes unless the reason ceases", preempted: "taken", unreserved: "reservation given up", observed: "would have been noticed (only observed)", killable: "ended for whoever needs its room", moved: "reservation holds another node now" };

export function Preemptions() {
  const { query } = usePlace();
  const queue = query.get("queue") ?? "", event = query.get("event") ?? "";
  const q = useGet<{ preemptions: any }>(`preemptions${queryOf({ queue, limit: 500 })}`);
  const all = list<any>(q.data?.preemptions.preemption);
  const rows = all.filter((p) => !event || p.event === event);
  const taken = all.filter((p) => p.event === "preempted");
  const lost = taken.reduce((n, p) => n + (p.lostMemorySeconds ?? 0), 0);
  return <Page title="Preemption" light="/cluster/scheduler">
    <div className="filters"><Search name="queue" label="Queue" /><Choice name="event" label="Event" options={[["", "All events"], ...Object.keys(meanings).map((m) => [m, m] as [string, string])]} /></div>
    <Wait of={q}>
      <Note>{all.length ? `${count(taken.length)} containers taken in the last ${count(all.length)} events, ${count(Math.round(lost / 3600 / 1024))} GiB-hours of work lost.` : ""}</Note>
      <Card flat><Table label="Preemption events" empty="Nothing was preempted since this ResourceManager became active." heads={["When", "Event", "Container", "From", "For", "Size", "Age", "Rule", "Lost"]}
        rows={rows.map((p) => [<span title={moment(p.time)}>{ago(p.time)}</span>, <span title={meanings[p.event]}><b>{p.event}</b><span className="property">{meanings[p.event]}</span></span>,
          <><A to={`/apps/${p.appId}`}>{p.appId}</A><span className="property"><T>{p.containerId}</T>{p.master && ", the master"}</span></>, <A to={`/queues/${encodeURIComponent(p.queue)}`}><T>{p.queue}</T></A>,
          <>{p.forQueue ? <A to={`/queues/${encodeURIComponent(p.forQueue)}`}><T>{p.forQueue}</T></A> : "–"}{p.forAppId && <span className="property"><A to={`/apps/${p.forAppId}`}>{p.forAppId}</A></span>}</>,
          `${memory(p.memoryMB)}, ${count(p.vCores)} vcores`, duration(p.ageMillis), <T>{p.rule}</T>, p.lostMemorySeconds ? `${count(Math.round(p.lostMemorySeconds / 3600))} MiB-h` : "–"])} /></Card>
    </Wait>
  </Page>;
}
