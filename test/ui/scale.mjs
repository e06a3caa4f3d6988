// The measurements behind test/ui/scale. PAGES is the ResourceManager's address, with APPS applications and NODES nodes. Each time is the median of REPEAT (3). On a
// machine that has other work, SLACK is how many times longer things may take by the clock; what they take of a processor is bounded all the same.
import * as ui from "./lib.mjs";
import { test, want } from "./lib.mjs";

const { PAGES, APPS, NODES } = process.env, repeat = Number(process.env.REPEAT ?? 3), slack = Number(process.env.SLACK ?? 1);
const most = { paint: 1000 * slack, shown: 1000 * slack, act: 100 * slack, processor: 1000, bytes: 1_000_000, elements: 6000 };
const call = ui.caller(PAGES);
const writable = (await call("GET", "session")).session.changesAt;
const app = (await call("GET", "app-list?states=ACCEPTED&limit=1&offset=50000")).appList.app?.[0]?.id ?? (await call("GET", "app-list?limit=1")).appList.app[0].id;
const runs = (await call("GET", "app-list?states=RUNNING&limit=1")).appList.app?.[0]?.id ?? app;
const node = (await call("GET", "node-list?limit=1&offset=5000")).nodeList.node?.[0]?.id ?? (await call("GET", "node-list?limit=1")).nodeList.node[0].id;
const browser = await ui.launch(), wrong = [];
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const held = [];

/** A page that notes what is sent to it and what inputs take until they are painted. */
async function open() {
  const page = await ui.open(browser, [new URL(writable).host], wrong);
  await page.context().request.get(`${writable}/ws/v1/cluster/session?user.name=root`);
  page.sent = [];
  page.on("response", async (r) => {
    if (!r.url().includes("/ws/v1/") && !r.url().includes("/jmx") && !r.url().includes("/conf")) return;
    if (r.url().endsWith("/events")) return;
    const limit = Number(new URL(r.url()).searchParams.get("limit") ?? 0);
    page.sent.push({ url: r.url(), limit, bytes: (await r.body().catch(() => "")).length });
  });
  await page.addInitScript(() => {
    window.inputs = [];
    new PerformanceObserver((list) => { for (const e of list.getEntries()) if (e.interactionId) window.inputs.push({ name: e.name, ms: e.duration }); }).observe({ type: "event", durationThreshold: 16, buffered: true });
  });
  return page;
}
const settled = () => {
  const main = document.querySelector("main");
  return !!main?.querySelector("h1") && !/Loading…|^\s*…\s*$/m.test(main.innerText) && ![...main.querySelectorAll(".grid-body [role=cell]")].some((c) => c.textContent === "…");
};

for (const [path, what] of [["/", "overview"], ["/queues", "queues"], ["/queues/root.q20", "the queue where all wait"], ["/queues/root.q0", "a queue where some run"], ["/apps", "applications"], ["/apps?states=ACCEPTED&sort=name", "applications that wait, by name"],
  [`/apps/${app}`, "an application that waits"], [`/apps/${runs}`, "an application that runs"], ["/nodes", "nodes"], [`/nodes/${encodeURIComponent(node)}`, "a node"], ["/drains", "drains"], ["/config", "configuration"], ["/preemptions", "preemption"],
  ["/reservations", "reservations"], ["/activities", "activities"], [`/activities?app=${app}`, "activities of an application"], ["/daemon", "daemon"]]) {
  await test(`${what} is usable`, async () => {
    const paints = [], shown = [], spent = [];
    let bytes = 0, largest, elements = 0;
    for (let i = 0; i < repeat; i++) {
      const page = await open();
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
      await page.goto(`${writable}/ui${path}`, { waitUntil: "commit" });
      await page.waitForFunction(settled, undefined, { polling: "raf" });
      shown.push(await page.evaluate(() => performance.now()));
      await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
      paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
      spent.push(((await devtools.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration")?.value ?? 0) * 1000);
      await page.waitForTimeout(200);
      elements = await page.evaluate(() => document.querySelectorAll("*").length);
      for (const s of page.sent) { want(s.limit <= 1000, `${s.url} asks for ${s.limit} rows`); bytes += s.bytes / repeat; if (!largest || s.bytes > largest.bytes) largest = s; }
      await page.context().close();
    }
    const paint = median(paints), done = median(shown), busy = median(spent);
    const said = `first paint ${paint.toFixed(0)} ms, shown ${done.toFixed(0)} ms, ${busy.toFixed(0)} ms of a processor, ${(bytes / 1024).toFixed(0)} KiB sent, the largest answer ${((largest?.bytes ?? 0) / 1024).toFixed(0)} KiB, ${elements} elements`;
    want(paint <= most.paint && done <= most.shown && busy <= most.processor && (largest?.bytes ?? 0) <= most.bytes && elements <= most.elements, `${said} (${largest?.url}); the limits are ${JSON.stringify(most)}; all: ${shown.map((x) => x.toFixed(0))}`);
    return said;
  });
}

/** What inputs on a page take until the next paint, the worst of each turn. */
async function act(name, path, turns) {
  await test(`${name} answers at once`, async () => {
    const page = await open(), worst = [];
    await page.goto(`${writable}/ui${path}`);
    await page.waitForFunction(settled);
    await page.waitForTimeout(500);
    for (const turn of turns) {
      await page.evaluate(() => { window.inputs = []; });
      await turn(page);
      await page.waitForTimeout(400);
      worst.push(Math.max(0, ...(await page.evaluate(() => window.inputs.map((x) => x.ms)))));
    }
    await page.context().close();
    held.push(...worst);
    const said = `median ${median(worst)} ms, at most ${Math.max(...worst)} ms over ${worst.length} inputs`;
    want(median(worst) <= most.act, said);
    return said;
  });
}
const key = (k, n = 5) => async (page) => { for (let i = 0; i < n; i++) await page.keyboard.press(k); };
const sort = (name) => (page) => page.getByRole("button", { name, exact: true }).click();
await act("the list of applications", "/apps", [sort("Name"), sort("User"), sort("Started"), async (page) => { await page.getByLabel("Id, name, user or queue").fill(""); await page.getByLabel("Id, name, user or queue").pressSequentially("bench"); },
  async (page) => { await page.getByRole("group", { name: "Applications, scrolls" }).focus(); await key("PageDown", 8)(page); }, key("End", 1), key("Home", 1), (page) => page.getByLabel("State").selectOption("ACCEPTED"), (page) => page.getByRole("checkbox").nth(3).click()]);
await act("the list of nodes", "/nodes", [sort("Memory"), sort("Rack"), sort("Containers"), async (page) => { await page.getByRole("group", { name: "Nodes, scrolls" }).focus(); await key("PageDown", 8)(page); }, key("End", 1), (page) => page.locator(".card-head select").selectOption("vcores")]);
await act("the tree of queues", "/queues", [async (page) => { await page.getByRole("treegrid").getByRole("row").first().focus(); await key("ArrowDown", 10)(page); }, key("ArrowLeft", 1), key("ArrowRight", 1), (page) => page.getByLabel("Resource").selectOption("vCores")]);
await act("going from page to page", "/", ["Queues", "Applications", "Nodes", "Configuration", "Preemption", "Daemon", "Overview"].map((name) => (page) => page.getByRole("navigation").getByRole("link", { name, exact: true }).click()));
await test("scrolling to the far end of a list shows its rows", async () => {
  const page = await open(), took = [];
  await page.goto(`${writable}/ui/apps`);
  await page.waitForFunction(settled);
  for (const share of [0.5, 1, 0.25, 0]) {
    const began = await page.evaluate((s) => { const e = document.querySelector(".window"); e.scrollTop = e.scrollHeight * s; return performance.now(); }, share);
    await page.waitForTimeout(30);
    await page.waitForFunction(settled, undefined, { polling: "raf" });
    took.push((await page.evaluate(() => performance.now())) - began);
  }
  await page.context().close();
  const said = `${took.map((x) => x.toFixed(0)).join(", ")} ms`;
  want(median(took) <= 1000, said);
  return said;
});
await test("nothing breaks and nothing is asked elsewhere", async () => want(wrong.length === 0, [...new Set(wrong)].slice(0, 10).join("\n")));
console.log(`${APPS} applications, ${NODES} nodes: inputs are painted after ${median(held)} ms (median), ${Math.max(...held)} ms at most`);
await browser.close();
ui.total();
