// Queues of every scheduler in one shape.
import { list } from "./lib";

export interface Res { memory: number; vCores: number }
export const none: Res = { memory: 0, vCores: 0 };
const plus = (a: Res, b: Res): Res => ({ memory: a.memory + b.memory, vCores: a.vCores + b.vCores });
const res = (x: any): Res => ({ memory: Number(x?.memory ?? 0), vCores: Number(x?.vCores ?? 0) });

export interface Queue {
  path: string; name: string; leaf: boolean; state: string; parent?: Queue; children: Queue[];
  guarantee: Res; max: Res; used: Res; pending: Res; reserved: Res; amUsed: Res; amLimit: Res;
  demand?: Res; steady?: Res; // the FairScheduler's
  running: number; waiting: number; containers: number; preemption?: boolean; raw: any;
}
export interface Scheduler { kind: "capacity" | "fair" | "fifo"; root: Queue; partitions: string[] }

function ofPartition(all: any[], partition: string) { return all.find((x) => (x.partitionName ?? "") === partition); }

function capacity(raw: any, partition: string, parent?: Queue): Queue {
  const shares = ofPartition(list(raw.capacities?.queueCapacitiesByPartition), partition);
  const usage = ofPartition(list(raw.resources?.resourceUsagesByPartition), partition);
  const q: Queue = {
    path: raw.queuePath ?? raw.queueName, name: raw.queueName, leaf: raw.type === "capacitySchedulerLeafQueueInfo", state: raw.state ?? "RUNNING", parent, children: [],
    guarantee: res(shares?.effectiveMinResource), max: res(shares?.effectiveMaxResource),
    used: res(usage?.used), pending: res(usage?.pending), reserved: res(usage?.reserved), amUsed: res(usage?.amUsed), amLimit: res(usage?.amLimit),
    running: raw.numActiveApplications ?? 0, waiting: raw.numPendingApplications ?? 0, containers: raw.allocatedContainers ?? 0,
    preemption: raw.preemptionDisabled === undefined ? undefined : !raw.preemptionDisabled, raw,
  };
  q.children = list<any>(raw.queues?.queue).map((c) => capacity(c, partition, q));
  if (!q.leaf) sum(q, !usage);
  return q;
}

/** What a parent does not tell itself is the sum of its children. */
function sum(q: Queue, resources: boolean) {
  q.running = q.waiting = 0;
  for (const c of q.children) {
    q.running += c.running; q.waiting += c.waiting;
    if (resources) { q.used = plus(q.used, c.used); q.pending = plus(q.pending, c.pending); q.reserved = plus(q.reserved, c.reserved); q.containers += c.containers; }
    q.amUsed = plus(q.amUsed, c.amUsed);
  }
}

function fair(raw: any, parent?: Queue): Queue {
  const used = res(raw.usedResources), demand = res(raw.demandResources);
  const q: Queue = {
    path: raw.queueName, name: String(raw.queueName).split(".").pop()!, leaf: raw.type === "fairSchedulerLeafQueueInfo", state: "RUNNING", parent, children: [],
    guarantee: res(raw.fairResources), max: res(raw.maxResources), used, reserved: res(raw.reservedResources), demand, steady: res(raw.steadyFairResources),
    pending: { memory: Math.max(0, demand.memory - used.memory), vCores: Math.max(0, demand.vCores - used.vCores) },
    amUsed: res(raw.amUsedResources), amLimit: res(raw.amMaxResources),
    running: raw.numActiveApps ?? 0, waiting: raw.numPendingApps ?? 0, containers: raw.allocatedContainers ?? 0, preemption: raw.preemptable, raw,
  };
  q.children = list<any>(raw.childQueues?.queue ?? raw.childQueues).map((c) => fair(c, q));
  if (!q.leaf) { q.running = q.children.reduce((n, c) => n + c.running, 0); q.waiting = q.children.reduce((n, c) => n + c.waiting, 0); }
  return q;
}

export function schedulerOf(info: any, partition: string, total: Res): Scheduler {
  if (info.type === "fairScheduler") return { kind: "fair", root: fair(info.rootQueue), partitions: [""] };
  if (info.type === "capacityScheduler") {
    const root = capacity(info, partition);
    const partitions = new Set<string>([""]);
    const walk = (raw: any) => { list<any>(raw.capacities?.queueCapacitiesByPartition).forEach((p) => partitions.add(p.partitionName ?? "")); list<any>(raw.queues?.queue).forEach(walk); };
    walk(info);
    if (root.max.memory === 0 && partition === "") { root.guarantee = total; root.max = total; }
    return { kind: "capacity", root, partitions: [...partitions].sort() };
  }
  const used = { memory: (total.memory * (info.usedCapacity ?? 0)) / 100, vCores: 0 };
  return { kind: "fifo", partitions: [""], root: { path: "default", name: "default", leaf: true, state: info.qstate ?? "RUNNING", children: [], guarantee: total, max: total, used, pending: none, reserved: none, amUsed: none, amLimit: none, running: 0, waiting: 0, containers: info.numContainers ?? 0, raw: info } };
}

export function find(q: Queue, path: string): Queue | undefined {
  if (q.path === path) return q;
  for (const c of q.children) { const f = find(c, path); if (f) return f; }
  return undefined;
}
export const all = (q: Queue): Queue[] => [q, ...q.children.flatMap(all)];
