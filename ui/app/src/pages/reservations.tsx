import { useState } from "react";
import { count, list, memory, moment, queryOf, useGet, usePlace, visible } from "../lib";
import { Card, Choice, Note, Page, T, Table, Wait } from "../parts";
import { all } from "../queues";
import { useScheduler } from "./queues";

export function Reservations() {
  const { scheduler } = useScheduler();
  const { query } = usePlace();
  // Reservation queues show as parents of dynamic queues; any queue may be asked for.
  const queues = scheduler ? all(scheduler.root).filter((q) => q.children.length === 0 || q.raw.type?.includes("Plan") || q.children.some((c) => c.name.startsWith(q.name + "-default"))) : [];
  const queue = query.get("queue") || queues[0]?.path || "";
  const [range, setRange] = useState("24");
  const q = useGet<any>(queue ? `reservation/list${queryOf({ queue: queue.split(".").pop(), "include-resource-allocations": "true" })}` : null, { every: 10_000 });
  const found = list<any>(q.data?.reservations ?? q.data?.reservationListInfo?.reservations);
  return <Page title="Reservations">
    <div className="filters"><Choice name="queue" label="Queue" value={queue} options={queues.map((x) => [x.path, visible(x.path)])} /><Choice label="Shown" value={range} onChange={setRange} options={[["1", "1 hour"], ["6", "6 hours"], ["24", "1 day"], ["168", "1 week"]]} /></div>
    {q.error ? <Card><Note>{visible(q.error.message)} Reservations need <code>yarn.resourcemanager.reservation-system.enable</code> and a queue with <code>reservable</code>.</Note></Card> : <Wait of={q}>
      {found.length === 0 ? <Card><Note>Nothing is reserved in <T>{queue}</T>.</Note></Card> : <><Gantt of={found} hours={Number(range)} capacity={queues.find((x) => x.path === queue)?.guarantee.memory ?? 0} />
        <Card title="All of them" flat><Table label="Reservations" heads={["Reservation", "User", "Name", "Accepted", "From", "Until", "Stages"]} rows={found.map((r) => { const d = r["reservation-definition"] ?? {}; const asks = list<any>(d["reservation-requests"]?.["reservation-request"]);
          return [<T>{r["reservation-id"]}</T>, <T>{r.user}</T>, <T>{d["reservation-name"] ?? "–"}</T>, moment(r["acceptance-time"]), moment(d.arrival), moment(d.deadline), asks.map((x, i) => <span key={i} className="property">{count(x["num-containers"])} × {memory(x.capability?.memory)}, {Math.round(x.duration / 1000)} s</span>)]; })} /></Card></>}
    </Wait>}
  </Page>;
}

/** What is promised over time: a lane for each reservation, and below the sum. */
function Gantt({ of, hours, capacity }: { of: any[]; hours: number; capacity: number }) {
  const spans = of.map((r) => list<any>(r["resource-allocations"]).map((x) => ({ from: Number(x.startTime), to: Number(x.endTime), mb: Number(x.resource?.memory ?? 0) })).filter((x) => x.mb > 0));
  const now = Date.now(), from = now - (hours * 3600_000) / 8, to = from + hours * 3600_000;
  const at = (t: number) => Math.min(100, Math.max(0, ((t - from) * 100) / (to - from)));
  const edges = [...new Set(spans.flat().flatMap((s) => [s.from, s.to]))].sort((a, b) => a - b);
  const sums = edges.slice(0, -1).map((e, i) => ({ from: e, to: edges[i + 1]!, mb: spans.flat().filter((s) => s.from <= e && s.to > e).reduce((n, s) => n + s.mb, 0) }));
  const top = Math.max(0, ...sums.map((s) => s.mb)), most = Math.max(1, top, capacity);
  return <Card title="Plan">
    <div className="gantt" role="img" aria-label={`${of.length} reservations over ${hours} hours, at most ${memory(top)} at once of ${memory(capacity)}. The table below has the values.`}>
      {of.map((r, i) => <div className="lane" key={i}><span className="lane-name" title={visible(r["reservation-id"])}>{visible(r["reservation-definition"]?.["reservation-name"] ?? r["reservation-id"])}</span>
        <span className="lane-room">{spans[i]!.map((s, k) => s.to > from && s.from < to && <span key={k} className="lane-bar run" style={{ left: `${at(s.from)}%`, width: `${Math.max(0.3, at(s.to) - at(s.from))}%` }} title={`${moment(s.from)} to ${moment(s.to)}: ${memory(s.mb)}`} />)}<span className="now" style={{ left: `${at(now)}%` }} /></span></div>)}
      <div className="lane tall"><span className="lane-name">all of them, up to {memory(top)}</span><span className="lane-room">{sums.map((s, k) => s.to > from && s.from < to && <span key={k} className="step" style={{ left: `${at(s.from)}%`, width: `${at(s.to) - at(s.from)}%`, height: `${(s.mb * 100) / most}%` }} />)}{capacity > 0 && <span className="limit" style={{ bottom: `${(capacity * 100) / most}%` }} />}<span className="now" style={{ left: `${at(now)}%` }} /></span></div>
      <p className="quiet">{moment(from)} to {moment(to)}; the upright line is now, the level one what the queue is guaranteed: {memory(capacity)}</p>
    </div>
  </Card>;
}
