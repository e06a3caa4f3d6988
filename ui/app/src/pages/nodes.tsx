import { memo, useCallback, useLayoutEffect, useMemo, useRef, useState } from "react";
import { ago, change, count, duration, list, memory, moment, part, percent, queryOf, safe, useGet, usePlace, visible } from "../lib";
import { Refresh } from "./refresh";
import { A, Action, Card, Choice, Facts, Field, Lines, Meter, Note, Page, Search, State, T, Table, useMay, Wait, Window, type Column } from "../parts";

const states: [string, string][] = [["", "All states"], ["RUNNING", "Running"], ["DECOMMISSIONING", "Decommissioning"], ["UNHEALTHY", "Unhealthy"], ["LOST", "Lost"], ["DECOMMISSIONED", "Decommissioned"], ["SHUTDOWN", "Shutdown"], ["REBOOTED", "Rebooted"]];

const columns: Column<any>[] = [
  { key: "id", title: "Node", sort: "id", width: "minmax(11rem, 1.3fr)", cell: (n) => <A to={`/nodes/${part(n.id)}`}><T>{n.id}</T></A> },
  { key: "state", title: "State", sort: "state", width: "9.5rem", cell: (n) => <State of={n.state} /> },
  { key: "rack", title: "Rack", sort: "rack", width: "minmax(7rem, .7fr)", cell: (n) => <T>{n.rack}</T> },
  { key: "labels", title: "Labels", width: "minmax(5rem, .5fr)", cell: (n) => <T>{n.labels}</T> },
  { key: "containers", title: "Containers", sort: "containers", width: "6rem", number: true, cell: (n) => (n.containers === undefined ? "" : count(n.containers)) },
  { key: "memory", title: "Memory", sort: "memory", width: "minmax(8rem, .8fr)", cell: (n) => (n.usedMB === undefined ? "" : <Meter value={n.usedMB} of={n.totalMB} label="Memory allocated" second={n.memoryUse} secondLabel="really used" />) },
  { key: "mb", title: "Allocated", width: "11rem", number: true, cell: (n) => (n.usedMB === undefined ? "" : `${memory(n.usedMB)} / ${memory(n.totalMB)}`) },
  { key: "vcores", title: "VCores", sort: "vcores", width: "minmax(7rem, .7fr)", cell: (n) => (n.usedVCores === undefined ? "" : <Meter value={n.usedVCores} of={n.totalVCores} label="VCores allocated" second={n.cpuUse} secondLabel="really used" />) },
  { key: "real", title: "Really used", sort: "memoryUse", width: "8rem", number: true, cell: (n) => (n.memoryUse === undefined ? "" : `${percent(n.memoryUse)} · ${percent(n.cpuUse)}`) },
  { key: "heartbeat", title: "Last heard", sort: "heartbeat", width: "9rem", cell: (n) => ago(n.heartbeat) },
  { key: "version", title: "Version", sort: "version", width: "6rem", cell: (n) => <T>{n.version}</T> },
  { key: "health", title: "Health", width: "minmax(8rem, 1fr)", cell: (n) => <T>{n.health}</T> },
];

export function Nodes() {
  const { query } = usePlace();
  const [n, setN] = useState<[number, number]>();
  const may = useMay();
  const [chosen, setChosen] = useState(new Set<string>());
  const filters = { q: query.get("q") ?? "", states: query.get("states") ?? "", label: query.get("label") ?? "" };
  return <Page title="Nodes" light="/cluster/nodes" aside={<><span className="quiet" role="status">{n && (n[0] === n[1] ? `${count(n[1])} in all` : `${count(n[0])} of ${count(n[1])}`)}</span><Refresh what="nodes" /></>}>
    <div className="filters"><Search name="q" label="Node, rack or health" /><Choice name="states" label="State" options={states} /><Search name="label" label="Label" />
      {may && <Drain nodes={[...chosen]} done={() => setChosen(new Set())} />}</div>
    <Heat {...filters} />
    <Window label="Nodes" path="node-list" root="nodeList" item="node" columns={columns} minWidth="96rem" keyOf={(x: any) => x.id} filters={filters} onCount={(a, b) => setN([a, b])} selected={may ? chosen : undefined} onSelect={may ? setChosen : undefined} />
    <p className="quiet">The upper line of a bar is what is allocated, the lower one what is really used.</p>
  </Page>;
}

const measures: [string, string][] = [["memory", "Memory allocated"], ["vcores", "VCores allocated"], ["memoryUse", "Memory really used"], ["cpuUse", "CPU really used"]];

const pitch = 16, side = 14; // pixels of a cell of the map, with and without the gap

/** The map is one path for each tenth, so that thousands of cells cost a dozen elements; and it is drawn again only when what it shows changes. */
const Heat = memo(function Heat({ q: text, states, label }: { q: string; states: string; label: string }) {
  const q = useGet<{ nodeMap: any }>(`node-map${queryOf({ q: text, states, label, cells: 800 })}`);
  const [by, setBy] = useState("memory");
  const [over, setOver] = useState<any>();
  const room = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(60);
  useLayoutEffect(() => {
    const measure = () => setColumns(Math.max(1, Math.floor((room.current!.clientWidth + pitch - side) / pitch)));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(room.current!);
    return () => watch.disconnect();
  }, []);
  const cells = useMemo(() => list<any>(q.data?.nodeMap.cell), [q.data]);
  const each = q.data?.nodeMap.nodesPerCell ?? 1;
  const name = measures.find(([m]) => m === by)![1];
  const busy = cells.filter((c) => c[by] > 90).length;
  const paths = useMemo(() => {
    const out: Record<string, string> = {};
    cells.forEach((c, i) => {
      const tenth = c.state === "RUNNING" ? `h${Math.min(9, Math.floor((c[by] ?? 0) / 10))}` : "not";
      out[tenth] = `${out[tenth] ?? ""}M${(i % columns) * pitch} ${Math.floor(i / columns) * pitch}h${side}v${side}h-${side}z`;
    });
    return Object.entries(out);
  }, [cells, by, columns]);
  const point = useCallback((e: React.MouseEvent<SVGSVGElement>) => {
    const at = e.currentTarget.getBoundingClientRect();
    const x = Math.floor((e.clientX - at.left) / pitch), y = Math.floor((e.clientY - at.top) / pitch);
    setOver(x < columns ? cells[y * columns + x] : undefined);
  }, [cells, columns]);
  return <Card title="Heat map" aside={<Choice label="Of" value={by} onChange={setBy} options={measures} />}>
    <div ref={room}>
      <svg className="heat" role="img" width={columns * pitch} height={Math.ceil(cells.length / columns) * pitch} onMouseMove={point} onMouseLeave={() => setOver(undefined)}
        aria-label={`${name} of ${cells.length} ${each > 1 ? `groups of ${each} nodes` : "nodes"}: ${busy} above 90 %, ${cells.filter((c) => c.state !== "RUNNING").length} not running. The table below has the values.`}>
        <defs><pattern id="stripes" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2" height="4" /></pattern></defs>
        {paths.map(([tenth, d]) => <path key={tenth} className={tenth} d={d} />)}
      </svg>
    </div>
    <p className="legend" aria-hidden="true"><span>0 %</span>{Array.from({ length: 10 }, (_, i) => <i key={i} className={`cell h${i}`} />)}<span>100 %</span><span><i className="cell not" />not running</span>{each > 1 && <span>each cell {each} nodes</span>}
      {over && <span><T>{over.id}</T>{over.to && <> to <T>{over.to}</T></>}: {percent(over[by])}, {String(over.state).toLowerCase()}</span>}</p>
  </Card>;
});

export function NodePage({ id }: { id: string }) {
  const q = useGet<{ node: any }>(`nodes/${part(id)}`);
  const drains = useGet<{ drains: any }>(`drains?nodes=${part(id)}`);
  const n = q.data?.node, d = list<any>(drains.data?.drains.node)[0];
  const may = useMay();
  const total = (n?.usedMemoryMB ?? 0) + (n?.availMemoryMB ?? 0), cores = (n?.usedVirtualCores ?? 0) + (n?.availableVirtualCores ?? 0);
  const pages = n?.nodeHTTPAddress ? safe(`http://${n.nodeHTTPAddress}/node`) : undefined;
  return <Page title={<>Node <T>{id}</T></>} light="/cluster/nodes" aside={may && n ? (d?.requestedBy !== undefined ? <Undrain d={d} /> : <Drain nodes={[id]} />) : undefined}>
    <Wait of={q}>{n && <>
      <p className="lead"><State of={n.state} /> on rack <T>{n.rack}</T></p>
      <div className="cards two">
        <Card title="Allocated and really used">
          <p>Memory <Meter value={n.usedMemoryMB} of={total} label="Memory allocated" second={n.memUtilization} secondLabel="really used" /></p>
          <p>VCores <Meter value={n.usedVirtualCores} of={cores} label="VCores allocated" second={n.cpuUtilization} secondLabel="really used" /></p>
          <Facts>{[["Memory allocated", `${memory(n.usedMemoryMB)} of ${memory(total)}`], ["Memory really used", `${memory(n.resourceUtilization?.nodePhysicalMemoryMB)} (${percent(n.memUtilization)}), by containers ${memory(n.resourceUtilization?.aggregatedContainersPhysicalMemoryMB)}`],
            ["VCores allocated", `${count(n.usedVirtualCores)} of ${count(cores)}`], ["CPU really used", `${percent(n.cpuUtilization)}, by containers ${(n.resourceUtilization?.containersCPUUsage ?? 0).toFixed(2)} cores`], ["Containers", count(n.numContainers)]]}</Facts>
        </Card>
        <Card title="What it is"><Facts>{[["Version", <T>{n.version}</T>], ["Labels", <T>{list(n.nodeLabels).join(", ") || "none"}</T>], ["Last health report", ago(n.lastHealthUpdate)], ["Opportunistic containers", `${count(n.numRunningOpportContainers)} run, ${count(n.numQueuedContainers)} wait`],
          ["Its own pages", pages ? <a href={pages} rel="noreferrer"><T>{n.nodeHTTPAddress}</T></a> : "–"]]}</Facts></Card>
      </div>
      <p><A to={`/activities?node=${part(id)}`}>What the scheduler would do with this node now</A></p>
      {n.healthReport && <Card title="Health"><Lines>{n.healthReport}</Lines></Card>}
      {d && (d.requestedBy !== undefined || d.phase) && <DrainCard d={d} />}
    </>}</Wait>
  </Page>;
}

function held(d: any) {
  return <Table label={`What ${visible(d.id)} waits for`} heads={["Application", "User", "Queue", "Name", "Containers", "Progress"]} empty="It waits for nothing."
    rows={list<any>(d.heldBy).map((h) => [<A to={`/apps/${h.id}`}>{h.id}</A>, <T>{h.user ?? "–"}</T>, <T>{h.queue ?? "–"}</T>, <T>{h.name ?? "–"}</T>, `${count(h.containers)}${h.master ? ", the master" : ""}`, h.progress === undefined ? "–" : percent(h.progress)])} />;
}
function DrainCard({ d }: { d: any }) {
  if (d.requestedBy === undefined) return null;
  return <Card title="Drain"><Facts>{drainFacts(d)}</Facts>{held(d)}</Card>;
}
const drainFacts = (d: any): [React.ReactNode, React.ReactNode][] => [["Phase", <T>{d.phase || "–"}</T>], ["Asked for by", <><T>{d.requestedBy || "the list of nodes"}</T>, {moment(d.requestedAt)}</>], ["Reason", <T>{d.reason || "none given"}</T>],
  ["Deadline", d.deadline ? `${moment(d.deadline)}, in ${duration(d.secondsLeft * 1000)}` : "none"], ["Likely to leave in", d.estimatedSeconds === undefined ? "not known" : duration(d.estimatedSeconds * 1000)], ["Waits for", `${count(d.containers)} containers of ${count(d.applications)} applications`],
  ["Output of ended containers", "is served by the node until it leaves; reducers that come later run maps again"],
  ["Work lost if it left now", `${count(Math.round((d.lostMemorySeconds ?? 0) / 3600 / 1024))} GiB-hours`]];

export function Drains() {
  const q = useGet<{ drains: any }>("drains");
  const may = useMay();
  const nodes = list<any>(q.data?.drains.node);
  return <Page title="Drains" light="/cluster/drains" aside={may ? <Drain nodes={[]} /> : undefined}>
    <Wait of={q}>
      {nodes.length === 0 && <Card><Note>No node drains, and none is kept away.</Note></Card>}
      {nodes.slice(0, 200).map((d) => <Card key={d.id} title={<><A to={`/nodes/${part(d.id)}`}><T>{d.id}</T></A> <State of={d.state} /></>} aside={may ? <Undrain d={d} /> : undefined}><Facts>{drainFacts(d)}</Facts>{list(d.heldBy).length > 0 && held(d)}</Card>)}
      {nodes.length > 200 && <Note>{nodes.length - 200} more: see the light page.</Note>}
    </Wait>
  </Page>;
}

function Drain({ nodes, done }: { nodes: string[]; done?: () => void }) {
  const [names, setNames] = useState(""), [deadline, setDeadline] = useState("1h"), [reason, setReason] = useState("");
  const [plan, setPlan] = useState<{ of: string; answer?: any; error?: unknown }>();
  const fixed = nodes.length > 0;
  const which = fixed ? nodes : names.split(/[\s,]+/).filter(Boolean);
  const body = { nodes: which, deadline, reason };
  const key = JSON.stringify(body);
  const look = async () => { try { setPlan({ of: key, answer: await change("POST", "drains", { ...body, dryRun: true }) }); } catch (error) { setPlan({ of: key, error }); } };
  const seen = plan?.of === key ? plan : undefined;
  return <Action name={fixed ? `Drain${nodes.length > 1 ? ` ${nodes.length} chosen` : ""}` : done ? "Drain chosen" : "Drain nodes"} disabled={!fixed && done !== undefined} title="Drain nodes" confirm={seen?.answer ? "Drain" : "Show what will happen"} done={() => { setPlan(undefined); done?.(); }}
    run={async () => { if (!seen?.answer) { await look(); throw new Preview(); } await change("POST", "drains", body); }}>
    <p>{fixed ? <>Nothing new starts on <T>{nodes.slice(0, 5).join(", ")}</T>{nodes.length > 5 ? ` and ${nodes.length - 5} more` : ""}; what runs there may end.</> : "Nothing new starts on these nodes; what runs there may end."}</p>
    {!fixed && <Field label="Nodes" value={names} onChange={setNames} help="Hosts or HOST:PORT, with spaces or commas between them" autoFocus />}
    <Field label="Deadline" value={deadline} onChange={setDeadline} help="such as 30m or 2h; empty: the cluster's default" autoFocus={fixed} />
    <Field label="Reason" value={reason} onChange={setReason} />
    {seen?.error !== undefined && <p className="problem" role="alert">{visible((seen.error as Error).message)}</p>}
    {seen?.answer && <div role="status">{list<string>(seen.answer.drains.warning).map((w, i) => <p key={i} className="problem"><T>{w}</T></p>)}
      {list<any>(seen.answer.drains.node).slice(0, 20).map((d) => <p key={d.id}><T>{d.id}</T>: {count(d.containers)} containers of {count(d.applications)} applications, {d.estimatedSeconds === undefined ? "no estimate" : `likely to leave in ${duration(d.estimatedSeconds * 1000)}`}</p>)}</div>}
  </Action>;
}
class Preview extends Error { constructor() { super("Nothing is changed yet: this is what it would do. Confirm to do it."); } }

function Undrain({ d }: { d: any }) {
  return <Action name="Take back" title={`Let ${visible(d.id)} work again`} confirm="Take the order back" run={() => change("DELETE", `drains?nodes=${part(d.id)}`)}>
    <p>Containers start on <T>{d.id}</T> again, unless a list of nodes keeps it away. A node that has left already must register again.</p>
  </Action>;
}
