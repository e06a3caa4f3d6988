// The tests behind test/ui/upstream: Apache's own interfaces against our REST. PAGES is the ResourceManager's address; UI2 and SCHEDULER_UI are "" where there is
// no such interface. What they show is looked for as text, for their markup is not ours.
import { spawn } from "node:child_process";
import * as ui from "./lib.mjs";
import { test, until, want } from "./lib.mjs";

const { PAGES, YARN, CONF, SHOTS, UI2, SCHEDULER_UI } = process.env;
const call = ui.caller(PAGES);
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
const writable = (await call("GET", "session")).session.changesAt;
const browser = await ui.launch();

// Answers that Apache gives too: what no default file sets, and pages' icons. Timeline and JobHistory servers, which are asked in vain, are no answers.
const missing = [/\/conf\?name=yarn\.resourcemanager\.cluster-id/, /\/conf\?name=mapreduce\.jobhistory\./, /favicon|\.map$|sort_(asc|both|desc)\.png/];
/** A page whose user is root, and what went wrong on it. */
async function open(base = writable, user = "root") {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 } }), wrong = [];
  if (user) await context.request.get(`${base}/ws/v1/cluster/session?user.name=${user}`);
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on("pageerror", (e) => wrong.push(`error ${e.message}`));
  page.on("console", (m) => { if (/Content Security|CORS policy|violat/i.test(m.text())) wrong.push(m.text()); });
  page.on("response", (r) => { if (r.status() >= 400 && !missing.some((m) => m.test(r.url()))) wrong.push(`${r.status()} ${r.request().method()} ${r.url()}`); });
  return { page, wrong, close: () => context.close() };
}
const text = (page) => page.evaluate(() => document.body.innerText + [...document.querySelectorAll("svg text")].map((t) => t.textContent).join("\n"));
async function shows(page, what, ...all) {
  let now = "";
  await until(`${what}: ${all}`, async () => { now = await text(page); return all.every((x) => x instanceof RegExp ? x.test(now) : now.includes(x)); }, 25).catch((e) => { throw new Error(`${e.message}; the page says: ${now.replace(/\s+/g, " ").slice(0, 600)}`); });
}
const shot = (page, name) => SHOTS && page.screenshot({ path: `${SHOTS}/${name}.png` });

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
  // The requests of its client of 3.5, from its page: who it is, JSON both ways, and what it reads of the answers.
  await test("the scheduler's interface: a staged change is validated and goes through, and the tree shows it", async () => {
    const { page, close } = await open(writable, "");
    await page.goto(`${writable}/scheduler-ui/`);
    const ask = (method, path, body, accept = "application/json") => page.evaluate(async ([method, path, body, accept]) => {
      const r = await fetch(path, { method, credentials: "include", headers: { Accept: accept, ...body && { "Content-Type": "application/json" } }, body: body && JSON.stringify(body) });
      const text = await r.text();
      let json = null;
      try { json = JSON.parse(text); } catch { /* a refusal is a line of text */ }
      return { status: r.status, kind: r.headers.get("content-type") ?? "", text, json };
    }, [method, path, body, accept]);
    const as = (path) => `/ws/v1/cluster/${path}${path.includes("?") ? "&" : "?"}user.name=yarn`;
    const read = async (path) => { const a = await ask("GET", path); want(a.status === 200 && a.json, `${path} answers ${a.status} ${a.kind} ${a.text.slice(0, 200)}`); return a.json; };
    want((await read("/conf?name=hadoop.http.authentication.type")).property.value === "simple", "the kind of authentication");
    want((await read("/conf?name=yarn.webapp.scheduler-ui.read-only.enable")).property.value === "false", "whether it may change things");
    const info = (await read(as("scheduler"))).scheduler.schedulerInfo;
    want(info.type === "capacityScheduler" && info.queues.queue.some((q) => q.queuePath === "root.etl" && q.capacity === 40), "the queues");
    const conf = Object.fromEntries((await read(as("scheduler-conf"))).property.map((p) => [p.name, p.value]));
    want(conf["yarn.scheduler.capacity.root.etl.capacity"] === "40", "the properties of the queues");
    const before = (await read(as("scheduler-conf/version"))).configversion.versionID;
    want((await read(as("nodes"))).nodes.node.length === 2, "the nodes");
    for (const path of ["get-node-labels", "get-node-to-labels", "scheduler/bulk-activities?activitiesCount=10"]) await read(as(path));
    const change = (etl) => ({
      "update-queue": [{ "queue-name": "root.etl", params: { entry: [{ key: "capacity", value: String(etl) }] } }, { "queue-name": "root.default", params: { entry: [{ key: "capacity", value: "50" }] } }],
      "add-queue": [{ "queue-name": "root.staged", params: { entry: [{ key: "capacity", value: "20" }, { key: "state", value: "RUNNING" }] } }],
      "global-updates": [{ entry: [{ key: "yarn.scheduler.capacity.maximum-applications", value: "7777" }] }] });
    const bad = await ask("POST", as("scheduler-conf/validate"), change(70));
    want(bad.status >= 400 || bad.json?.validation === "failed", `a change of queues that exceed 100 % is valid: ${bad.status} ${bad.text}`);
    const good = await ask("POST", as("scheduler-conf/validate"), change(30));
    want(good.status === 200, `validating: ${good.status} ${good.text}`);
    const refused = await ask("PUT", as("scheduler-conf"), change(70));
    want(refused.status === 400 && /capacit/i.test(refused.text), `what is refused: ${refused.status} ${refused.text}`);
    const done = await ask("PUT", as("scheduler-conf"), change(30));
    want(done.status === 200, `applying: ${done.status} ${done.text}`);
    want((await read(as("scheduler-conf/version"))).configversion.versionID > before, "the version");
    await page.reload();
    await shows(page, "the new queue", "staged");
    await shot(page, "scheduler-changed");
    await close();
  });
}
shell.kill();
await browser.close();
ui.total();
