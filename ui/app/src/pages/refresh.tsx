import { useState } from "react";
import { change, count, list } from "../lib";
import { Action, Problem, State, T, Table, useMay } from "../parts";
import { Plan } from "./config";

/** Has the queue file or the lists of nodes read anew. It shows first what that would change. */
export function Refresh({ what }: { what: "queues" | "nodes" }) {
  const may = useMay();
  const [graceful, setGraceful] = useState(true);
  const [plan, setPlan] = useState<{ of: string; answer?: any; error?: unknown }>();
  if (!may) return null;
  const key = `${what}${what === "nodes" && graceful}`;
  const path = (dry: boolean) => `refresh/${what}?dryRun=${dry}${what === "nodes" ? `&graceful=${graceful}` : ""}`;
  const seen = plan?.of === key ? plan : undefined;
  const r = seen?.answer?.refresh;
  return <Action name={`Refresh ${what}`} title={`Refresh ${what}`} confirm={r?.accepted ? "Refresh" : "Show what will happen"} done={() => setPlan(undefined)} run={async () => {
    if (r?.accepted) { await change("POST", path(false)); return; }
    try { setPlan({ of: key, answer: await change("POST", path(true)) }); } catch (error) { setPlan({ of: key, error }); }
    throw new Preview();
  }}>
    <p>{what === "queues" ? "The file of the queues is read anew, as by yarn rmadmin -refreshQueues. It is taken over as a whole or not at all." : "The include and exclude lists are read anew, as by yarn rmadmin -refreshNodes."}</p>
    {what === "nodes" && <label className="check"><input type="checkbox" checked={graceful} onChange={(e) => setGraceful(e.target.checked)} />Nodes that must leave drain first</label>}
    {seen?.error !== undefined && <Problem error={seen.error} />}
    {r && <div role="status">
      {r.refusal && <Problem error={r.refusal} />}
      {r.accepted && what === "nodes" && <Table label="Nodes that change" heads={["Node", "Is", "Becomes", "Containers", "Reason"]} empty="No node changes." rows={list<any>(r.node).slice(0, 200).map((n) => [<T>{n.id}</T>, <State of={n.state} />, <State of={n.becomes} />, count(n.containers), n.reason ? <T>{n.reason}</T> : "–"])} />}
      {r.accepted && what === "nodes" && r.nodes > 200 && <p className="quiet">{count(r.nodes)} nodes in all.</p>}
      {r.accepted && r.plan && <Plan p={r.plan} />}
      {r.accepted && what === "queues" && !r.plan && <p>The file is right. This scheduler does not tell beforehand what it changes.</p>}
    </div>}
  </Action>;
}
class Preview extends Error { constructor() { super("Nothing is changed yet: this is what it would do. Confirm to do it."); } }
