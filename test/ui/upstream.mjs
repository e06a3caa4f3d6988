// The tests behind test/ui/upstream: Apache's own interfaces against our REST. UI2 and SCHEDULER_UI are "" where there is no such interface. What they show is
// looked for as text, for their markup is not ours. upstream-scheduler.mjs uses the scheduler's interface as an operator does.
import { spawn } from "node:child_process";
import * as ui from "./lib.mjs";
import { test, until, want } from "./lib.mjs";
import { PAGES, browser, call, open, property, shot, shows, writable } from "./upstream-lib.mjs";

const { YARN, CONF, UI2, SCHEDULER_UI } = process.env;
const script = `<script>window.pwned=1</script>`, image = `<img src=x onerror="window.pwned=1">`;
async function submit(name, queue) {
  const id = (await call("POST", "apps/new-application"))["application-id"];
  await call("POST", "apps", { "application-id": id, "application-name": name, queue, "am-container-spec": { commands: { command: "sleep 600" } }, resource: { memory: 256, vCores: 1 }, "max-app-attempts": 1 });
  return id;
}
await until("two nodes", async () => (await call("GET", "metrics")).clusterMetrics.activeNodes === 2, 60);
await call("PUT", "scheduler-conf", {
  "add-queue": { "queue-name": "root.etl", params: { entry: [{ key: "capacity", value: "40" }, { key: "maximum-capacity", value: "80" }] } },
  "update-queue": { "queue-name": "root.default", params: { entry: { key: "capacity", value: "60" } } } });
const other = await submit(image, "root.default");
const shell = spawn(YARN, ["--config", CONF, "shell", "-n", "1", "-memory", "256", "-name", script, "-queue", "root.etl", "--", "sleep 600"], { stdio: "ignore" });
const id = await until("a running application", async () => (await call("GET", "apps?states=RUNNING")).apps.app?.find((a) => a.name === script)?.id);
const attempt = await until("its attempt", async () => (await call("GET", `apps/${id}/appattempts`)).appAttempts.appAttempt?.find((a) => a.nodeId));
await until("its two containers", async () => (await call("GET", `apps/${id}`)).app.runningContainers === 2);
const node = (await call("GET", "nodes")).nodes.node.find((n) => n.id === attempt.nodeId);

if (UI2) {
  const at = `${encodeURIComponent(node.id)}/${encodeURIComponent(node.nodeHTTPAddress)}`;
  for (const [path, ...all] of [
    ["cluster-overview", "Cluster Resource Usage By Applications", id, "root.etl", /Pending = 0/, /Running = 2/, /Active = 2/, "Logged in as: root", "v3."],
    ["yarn-queues/root", "root", "etl", "default", "absolute capacity"],
    ["yarn-queue/root.etl/info", "root.etl", "Running", /configured capacity\s*40%/, /max capacity\s*80%/],
    ["yarn-queue/root.etl/apps", id, script, "SHELL"],
    ["yarn-apps/apps", id, other, script, image, "root.etl"],
    [`yarn-app/${id}/info`, script, id, "Running", "root.etl", /\d+ MBs, 2 VCores/],
    [`yarn-app/${id}/attempts`, attempt.appAttemptId, attempt.nodeId, "RUNNING"],
    [`yarn-app-attempt/${attempt.appAttemptId}`, attempt.containerId, "Running"],
    ["yarn-nodes/table", node.id, node.nodeHTTPAddress, "/default-rack", "RUNNING"],
    ["yarn-nodes/heatmap", "/default-rack", "Used"],
    ["yarn-nodes/status", /Active = 2/, /Lost = 0/],
    [`yarn-node/${at}/info`, node.id, "Total VCores allocated for Containers", "3 GB"],
    [`yarn-node-apps/${at}`, id, "RUNNING", "root"],
    [`yarn-node-containers/${at}`, attempt.containerId, "RUNNING"],
    ["yarn-tools/yarn-conf", "yarn.acl.enable", "core-default.xml"],
    ["yarn-services", "Could not find any services"],
  ]) await test(`UI2: ${path.split("/").map((p) => p.replace(/(application|appattempt)_.*|.*%3A.*/, "…")).join("/")}`, async () => {
    const { page, wrong, close } = await open();
    await page.goto(`${writable}/ui2/#/${path}`);
    await shows(page, path, ...all);
    want(!await page.evaluate(() => window.pwned), "a name is script");
    await shot(page, `ui2-${path.replace(/[^a-z0-9]+/gi, "-").slice(0, 40)}`);
    await close();
    want(wrong.length === 0, wrong.join("\n"));
  });
  // kill asks for the end of the application that waits.
  const kill = async (page, base) => {
    await page.goto(`${base}/ui2/#/yarn-app/${other}/info`);
    await page.getByText("Settings").click();
    await page.getByRole("link", { name: "Kill Application" }).click();
    await page.locator("#killApplicationConfirmDialog").getByRole("button", { name: /^(yes|ok|kill|stop)/i }).click();
  };
  await test("UI2 kills no application on the port that serves applications' pages", async () => {
    const { page, close } = await open(PAGES);
    await kill(page, PAGES);
    await shows(page, "what it says", /Error: Kill application failed|may not change/);
    await close();
    want((await call("GET", `apps/${other}`)).app.state === "ACCEPTED", "the application was killed");
  });
  await test("UI2 kills an application on the port for operators", async () => {
    const { page, wrong, close } = await open();
    await kill(page, writable);
    await shows(page, "what it says", "Application killed successfully");
    await until("a killed application", async () => (await call("GET", `apps/${other}`)).app.state === "KILLED", 20);
    await shot(page, "ui2-killed");
    await close();
    want(wrong.length === 0, wrong.join("\n"));
  });
}

if (SCHEDULER_UI) {
  await test("the scheduler's interface: the queue tree", async () => {
    const { page, wrong, close } = await open();
    await page.goto(`${writable}/scheduler-ui/`);
    await shows(page, "the tree", "root", "default", "etl");
    await shot(page, "scheduler-tree");
    await close();
    want(wrong.length === 0, wrong.join("\n"));
  });
  await test("the scheduler's interface: every page of it has an address", async () => {
    const { page, wrong, close } = await open();
    await page.goto(`${writable}/scheduler-ui/`);
    await shows(page, "the tree", "root");
    const pages = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((a) => [new URL(a.href).pathname, a.textContent.trim()]).filter(([path, name]) => name && /^\/scheduler-ui\/[a-z-]+$/.test(path)));
    for (const [path, name] of pages) {
      await page.goto(writable + path);
      await shows(page, path, name);
      await shot(page, `scheduler-${path.split("/").pop()}`);
    }
    await close();
    want(wrong.length === 0, wrong.join("\n"));
    return pages.map(([path]) => path).join(" ") || "no page but the tree has an address of its own in this build";
  });
  /** What the client of 3.5 does, from its page: who it is, JSON both ways, and what it reads of the answers. */
  async function client() {
    const { page, close } = await open(writable, "");
    await page.goto(`${writable}/scheduler-ui/`);
    const c = { page, close };
    c.ask = (method, path, body) => page.evaluate(async ([method, path, body]) => {
      const r = await fetch(path, { method, credentials: "include", headers: { Accept: "application/json", ...body && { "Content-Type": "application/json" } }, body: body && JSON.stringify(body) });
      const text = await r.text();
      let json = null;
      try { json = JSON.parse(text); } catch { /* a refusal is a line of text */ }
      return { status: r.status, kind: r.headers.get("content-type") ?? "", text, json };
    }, [method, path[0] === "/" ? path : `/ws/v1/cluster/${path}${path.includes("?") ? "&" : "?"}user.name=yarn`, body]);
    c.read = async (path) => { const a = await c.ask("GET", path); want(a.status === 200 && a.json && a.kind.startsWith("application/json"), `${path} answers ${a.status} ${a.kind} ${a.text.slice(0, 200)}`); return a.json; };
    c.queue = async (path) => {
      const find = (q) => q.queuePath === path ? q : (q.queues?.queue ?? []).map(find).find(Boolean);
      return find((await c.read("scheduler")).scheduler.schedulerInfo);
    };
    c.conf = async () => Object.fromEntries((await c.read("scheduler-conf")).property.map((p) => [p.name, p.value]));
    c.ok = async (method, path, body) => { const a = await c.ask(method, path, body); want(a.status === 200, `${method} ${path}: ${a.status} ${a.text}`); return a; };
    const states = (queues, state) => queues.length && c.ok("PUT", "scheduler-conf", { "update-queue": queues.map((q) => queue(q, { state })) });
    // What a click on "Apply" sends: queues that get children or go are stopped with all below, the change is validated and made, what was stopped is started.
    c.apply = async (change, { stop = [], start = stop, added = [] } = {}) => {
      await states(stop, "STOPPED");
      const valid = await c.ask("POST", "scheduler-conf/validate", change);
      const applied = valid.status === 200 && valid.json?.validation !== "failed";
      if (applied) await c.ok("PUT", "scheduler-conf", change);
      await states(applied ? start : stop, "RUNNING");
      if (applied) for (const q of added) await states([q], "RUNNING");
      return { applied, text: valid.text };
    };
    return c;
  }
  const queue = (path, params) => ({ "queue-name": path, params: { entry: Object.entries(params).map(([key, value]) => ({ key, value: String(value) })) } });
  const global = (params) => [{ entry: Object.entries(params).map(([key, value]) => ({ key: property(key), value: String(value) })) }];

  await test("the scheduler's interface: a staged change is validated and goes through, and the tree shows it", async () => {
    const c = await client();
    want((await c.read("/conf?name=hadoop.http.authentication.type")).property.value === "simple", "the kind of authentication");
    want((await c.read("/conf?name=yarn.webapp.scheduler-ui.read-only.enable")).property.value === "false", "whether it may change things");
    const etl = await c.queue("root.etl");
    want(etl.capacity === 40 && etl.maxCapacity === 80 && etl.queueType === "leaf" && etl.state === "RUNNING" && etl.creationMethod === "static" && etl.numApplications === 1 && etl.resourcesUsed.memory > 0, `the queue: ${JSON.stringify(etl).slice(0, 400)}`);
    want(etl.queueAcls.queueAcl.every((a) => a.accessType && a.accessControlList) && etl.nodeLabels.includes("*"), "its lists");
    const part = etl.capacities.queueCapacitiesByPartition.find((p) => p.partitionName === "");
    want(part.absoluteCapacity === 40 && part.queueCapacityVectorInfo.capacityVectorEntries.every((e) => e.resourceValue === "40.0%"), `its capacities: ${JSON.stringify(part)}`);
    want((await c.conf())[property("root.etl.capacity")] === "40", "the properties of the queues");
    const before = (await c.read("scheduler-conf/version")).configversion.versionID;
    const nodes = (await c.read("nodes")).nodes.node;
    want(nodes.length === 2 && nodes.every((n) => n.nodeHostName && n.usedMemoryMB + n.availMemoryMB === 3072 && n.usedVirtualCores + n.availableVirtualCores === 8 && n.state === "RUNNING"), "the nodes");
    want((await c.read("scheduler/bulk-activities?activitiesCount=10")).bulkActivities, "what the scheduler did");
    const change = (etl) => ({
      "update-queue": [queue("root.etl", { capacity: etl }), queue("root.default", { capacity: 50 })],
      "add-queue": [queue("root.staged", { capacity: 20, state: "STOPPED" })],
      "global-updates": global({ "maximum-applications": 7777 }) });
    const bad = await c.apply(change(70));
    want(!bad.applied && /capacit/i.test(bad.text), `a change of queues that exceed 100 %: ${bad.text}`);
    const refused = await c.ask("PUT", "scheduler-conf", change(70));
    want(refused.status === 400 && /capacit/i.test(refused.text), `what is refused: ${refused.status} ${refused.text}`);
    want(!await c.queue("root.staged") && (await c.read("scheduler-conf/version")).configversion.versionID === before, "what was refused has changed something");
    const done = await c.apply(change(30), { added: ["root.staged"] });
    want(done.applied, `applying: ${done.text}`);
    want((await c.read("scheduler-conf/version")).configversion.versionID > before && (await c.conf())[property("maximum-applications")] === "7777", "the version");
    await c.page.reload();
    await shows(c.page, "the new queue", "staged");
    await shot(c.page, "scheduler-changed");
    await c.close();
  });
  await test("the scheduler's interface: queues get children, stop and go", async () => {
    const c = await client(), child = (name, capacity) => queue(`root.staged.${name}`, { capacity, "maximum-capacity": 100, state: "STOPPED" });
    const yes = async (what, ...change) => { const a = await c.apply(...change); want(a.applied, `${what}: ${a.text}`); };
    await yes("a child of a leaf", { "add-queue": [child("a", 100)] }, { stop: ["root.staged"], added: ["root.staged.a"] });
    want((await c.queue("root.staged")).queueType === "parent" && (await c.queue("root.staged.a")).state === "RUNNING", "the leaf is no parent");
    const both = ["root.staged", "root.staged.a"];
    await yes("a second child", { "update-queue": [queue("root.staged.a", { capacity: 40 })], "add-queue": [child("b", 60)] }, { stop: both, added: ["root.staged.b"] });
    for (const q of [...both, "root.staged.b"]) want((await c.queue(q)).state === "RUNNING", `${q} does not run`);
    const no = await c.apply({ "remove-queue": "root.staged.b" }, { stop: ["root.staged.b"] });
    want(!no.applied && (await c.queue("root.staged.b")).state === "RUNNING", `removing a queue whose share nobody gets: ${no.text}`);
    await yes("removing it", { "update-queue": [queue("root.staged.a", { capacity: 100 })], "remove-queue": "root.staged.b" }, { stop: ["root.staged.b"], start: [] });
    await yes("stopping", { "update-queue": [queue("root.staged.a", { state: "STOPPED" })] });
    want((await c.queue("root.staged.a")).state === "STOPPED" && !await c.queue("root.staged.b"), "it is not stopped");
    await yes("resources one by one", { "update-queue": [queue("root.staged.a", { capacity: "[memory=50%,vcores=2]" })], "global-updates": global({ "legacy-queue-mode.enabled": false }) });
    const a = await c.queue("root.staged.a");
    want(a.mode === "mixed" && a.capacities.queueCapacitiesByPartition[0].queueCapacityVectorInfo.configuredCapacityVector === "[memory-mb=50.0%,vcores=2.0]", `the capacity: ${JSON.stringify(a.capacities)}`);
    await yes("back again", { "update-queue": [queue("root.staged.a", { capacity: 100 })], "global-updates": global({ "legacy-queue-mode.enabled": true }) });
    await c.close();
  });
  await test("the scheduler's interface: placement rules", async () => {
    const c = await client(), rules = (type) => ({ "global-updates": global({ "mapping-rule-format": "json", "mapping-rule-json": JSON.stringify({ rules: [{ type, matches: "placed", policy: "custom", customPlacement: "root.etl", fallbackResult: "placeDefault" }] }) }) });
    const no = await c.apply(rules("nobody"));
    want(!no.applied && /nobody/.test(no.text), `a rule of no known type: ${no.text}`);
    const done = await c.apply(rules("user"));
    want(done.applied && JSON.parse((await c.conf())[property("mapping-rule-json")]).rules[0].matches === "placed", `a rule: ${done.text}`);
    const asked = (method, path, body) => call(method, path, body, "placed"), id = (await asked("POST", "apps/new-application"))["application-id"];
    await asked("POST", "apps", { "application-id": id, "application-name": "placed", "am-container-spec": { commands: { command: "sleep 600" } }, resource: { memory: 256, vCores: 1 } });
    await until("its queue", async () => /etl$/.test((await call("GET", `apps/${id}`)).app.queue), 20);
    await call("PUT", `apps/${id}/state`, { state: "KILLED" });
    await c.close();
  });
  await test("the scheduler's interface: node labels", async () => {
    const c = await client(), [node] = (await c.read("nodes")).nodes.node;
    const no = (a, what) => want(a.status === 400 && a.json?.RemoteException?.message, `${what}: ${a.status} ${a.text}`);
    await c.ok("POST", "add-node-labels", { nodeLabelInfo: [{ name: "gpu", exclusivity: false }, { name: "idle", exclusivity: true }] });
    no(await c.ask("POST", "add-node-labels", { nodeLabelInfo: [{ name: "g p u", exclusivity: true }] }), "a label with blanks");
    await c.ok("POST", "replace-node-to-labels", { nodeToLabels: [{ nodeId: node.id, labels: ["gpu"] }] });
    no(await c.ask("POST", "replace-node-to-labels", { nodeToLabels: [{ nodeId: node.id, labels: ["none"] }] }), "a label that is not there");
    want((await c.read("get-node-labels")).nodeLabelInfo.map((l) => `${l.name} ${l.exclusivity}`).sort().join() === "gpu false,idle true", "the labels");
    const entries = (await c.read("get-node-to-labels")).nodeToLabels.entry;
    want(entries.length === 1 && entries[0].key === node.id && entries[0].value.nodeLabelInfo[0].name === "gpu", `the nodes' labels: ${JSON.stringify(entries)}`);
    const given = (of) => ({ "update-queue": [queue("root", { "accessible-node-labels.gpu.capacity": of }), queue("root.etl", { "accessible-node-labels": of && "gpu", "accessible-node-labels.gpu.capacity": of })] });
    want((await c.apply(given(100))).applied, "a queue's capacity in a partition");
    const parts = (await c.queue("root.etl")).capacities.queueCapacitiesByPartition.map((p) => `${p.partitionName} ${Math.round(p.capacity)}`);
    want(parts.join() === " 30,gpu 100", `the queue's partitions: ${parts}`);
    no(await c.ask("POST", "remove-node-labels?labels=gpu"), "removing a label that a queue uses");
    want((await c.apply(given(""))).applied, "the capacity's end");
    await c.ok("POST", "replace-node-to-labels", { nodeToLabels: [{ nodeId: node.id, labels: [] }, { nodeId: `${node.id.split(":")[0]}:0`, labels: [] }] });
    await c.ok("POST", "remove-node-labels?labels=gpu&labels=idle");
    want(!(await c.read("get-node-labels")).nodeLabelInfo && !(await c.read("get-node-to-labels")).nodeToLabels, "labels that were removed");
    await c.close();
  });
}
shell.kill();
await browser.close();
ui.total();
