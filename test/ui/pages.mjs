// The tests behind test/ui/run; ONLY, an expression, chooses by name. PAGES is the ResourceManager's address, CHROMIUM the browser, YARN and CONF the command and its configuration.
import { spawn } from "node:child_process";
import * as ui from "./lib.mjs";
import { axe, pause, test, until, want } from "./lib.mjs";

const { PAGES, YARN, CONF, SHOTS } = process.env;
const call = ui.caller(PAGES);
const list = (x) => x?.appAttempts?.appAttempt ?? [];

// Names that would be more than text if anybody took them for it.
const script = `<script>window.pwned=1</script>`, image = `"><img src=x onerror="window.pwned=1">`, turned = `safe\u202egnp.exe`;
async function submit(name, queue, extra = {}) {
  const id = (await call("POST", "apps/new-application"))["application-id"];
  await call("POST", "apps", { "application-id": id, "application-name": name, queue, "am-container-spec": { commands: { command: "sleep 600" } }, resource: { memory: 256, vCores: 1 }, "max-app-attempts": 1, ...extra });
  return id;
}
await until("two nodes", async () => (await call("GET", "metrics")).clusterMetrics.activeNodes === 2, 60);
await call("PUT", `scheduler-conf?reason=${encodeURIComponent(image)}`, { "add-queue": [
  { "queue-name": "root.etl", params: { entry: [{ key: "capacity", value: "40" }, { key: "maximum-capacity", value: "80" }] } },
  { "queue-name": "root.adhoc", params: { entry: { key: "capacity", value: "20" } } },
  { "queue-name": "root.adhoc.ana", params: { entry: [{ key: "capacity", value: "50" }, { key: "maximum-am-resource-percent", value: "0.1" }] } },
  { "queue-name": "root.adhoc.sci", params: { entry: { key: "capacity", value: "50" } } }],
  "update-queue": [{ "queue-name": "root.default", params: { entry: { key: "capacity", value: "40" } } }] });
const ids = { script: await submit(script, "root.default", { "application-type": image, "application-tags": { tag: ["<b>", "<i>"] } }), image: await submit(image, "root.etl"), turned: await submit(turned, "root.etl"), first: await submit("query-1", "root.adhoc.ana") };
ids.waits = await submit("query-2", "root.adhoc.ana");
const shell = spawn(YARN, ["--config", CONF, "shell", "-n", "3", "-memory", "512", "-name", "nightly-load", "-queue", "root.etl", "--", "sleep 600"], { stdio: "ignore" });
await until("a running application", async () => (ids.runs = (await call("GET", "app-list?q=nightly-load&states=RUNNING")).appList.app?.[0]?.id), 60);
const node = list(await call("GET", `apps/${ids.runs}/appattempts`))[0].nodeId; // which has a container until the end
const writable = (await call("GET", "session")).session.changesAt;
want(writable, "the session names no address from which things are changed");

const browser = await ui.launch();
const wrong = []; // what no page may do
async function open(options = {}, user) {
  const page = await ui.open(browser, [new URL(PAGES).host, new URL(writable).host], wrong, options);
  if (user) await page.context().request.get(`${writable}/ws/v1/cluster/session?user.name=${user}`);
  return page;
}
const show = (page, path, base = writable) => ui.show(page, base, path);
const pages = ["/", "/queues", "/queues/root.adhoc.ana", "/queues/root.adhoc", "/apps", `/apps/${ids.script}`, `/apps/${ids.waits}`, `/apps/${ids.runs}`, "/nodes", `/nodes/${encodeURIComponent(node)}`, "/drains",
  "/config", "/config?tab=change", "/config?tab=history", "/config?tab=diff", "/preemptions", "/reservations", "/activities", `/activities?app=${ids.waits}`, `/activities?app=${ids.runs}&group=no`, "/daemon", "/nowhere"];
const shot = (page, theme, at) => SHOTS && page.screenshot({ path: `${SHOTS}/${theme}${at.replace(/[^a-z0-9]+/gi, "-").replace(/-$/, "") || "-overview"}.png` });
const narrow = [];
await test("every page under axe, light and dark", async () => {
  const page = await open({}, "root"), bad = [];
  for (const at of pages) {
    await show(page, at);
    try { await axe(page, at); } catch (e) { bad.push(e.message); console.log(e.message); }
    await shot(page, "light", at);
    await page.emulateMedia({ colorScheme: "dark" });
    try { await axe(page, `${at}, dark`, "color-contrast"); } catch (e) { bad.push(e.message); }
    await shot(page, "dark", at);
    await page.emulateMedia({ colorScheme: "light" });
    for (const [what, width] of [["360 pixels wide", 360], ["at 200 %", 680]]) { // 200 % of a window of 1360
      await page.setViewportSize({ width, height: 740 });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) narrow.push(`${at} ${what}: ${over} pixels too wide: ${await page.evaluate(() => [...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".wide, .window, .tablist")).slice(0, 3).map((e) => `${e.tagName}.${e.className}`).join(" "))}`);
      if (width === 360) await shot(page, "narrow", at);
    }
    await page.setViewportSize({ width: 1360, height: 860 });
  }
  await page.context().close();
  want(bad.length === 0, bad.join("\n"));
});
await test("no page goes over the edge at 360 pixels or at 200 %", async () => want(narrow.length === 0, narrow.join("\n")));

if (SHOTS) await test("screenshots for the README", async () => {
  const page = await open({ viewport: { width: 1360, height: 760 } }, "root");
  for (const [path, name] of [["/", "overview"], [`/apps/${ids.waits}`, "why"]]) { await show(page, path); await page.waitForTimeout(3000); await page.screenshot({ path: `${SHOTS}/readme-${name}.png` }); }
  await page.context().close();
});

await test("hostile names are text", async () => {
  const page = await open({}, "root");
  await show(page, "/apps");
  for (const text of [script, image, "safe\\u202egnp.exe"]) await page.getByRole("cell", { name: text, exact: true }).first().waitFor();
  await show(page, `/apps/${ids.script}`);
  await page.getByText("<b>,<i>").waitFor();
  await show(page, "/config?tab=history");
  await page.getByText(image).first().waitFor();
  await show(page, `/nodes/${encodeURIComponent(image)}`);
  await page.getByRole("heading", { level: 1, name: `Node ${image}` }).waitFor();
  want(!(await page.evaluate(() => "pwned" in window)), "a name was run");
  want(!(await page.content()).includes("\u202e"), "a character that turns text is in the page");
  await page.context().close();
});

await test("why an application waits stands first on its page", async () => {
  const page = await open({}, "root");
  await show(page, `/apps/${ids.waits}`);
  const why = page.getByRole("region", { name: "Why it waits" });
  const setting = "yarn.scheduler.capacity.root.adhoc.ana.maximum-am-resource-percent";
  await why.locator("p.reason").getByText("ApplicationMasters").waitFor();
  await why.locator("p code").getByText(setting).waitFor();
  const limits = why.getByRole("group", { name: "Limits that hold it" });
  await limits.waitFor();
  await page.context().close();
});

await test("activities: why nodes give an application nothing, and what a node would be given", async () => {
  const page = await open({}, "root");
  await show(page, `/apps/${ids.waits}`);
  await page.getByRole("link", { name: "What each node would do for it now" }).click();
  await page.getByRole("heading", { level: 1, name: "Scheduler activities" }).waitFor();
  await page.locator("main").getByText(/ApplicationMasters|AM/).first().waitFor();
  await show(page, `/nodes/${encodeURIComponent(node)}`);
  await page.getByRole("link", { name: "What the scheduler would do with this node now" }).click();
  await page.getByText(`An offer of ${node}`).or(page.getByText("do not have available resources")).first().waitFor();
  await page.context().close();
});

await test("keyboard alone: skip link, navigation, tree, list, dialog", async () => {
  const page = await open({}, "root");
  await show(page, "/");
  await page.keyboard.press("Tab");
  want((await page.evaluate(() => document.activeElement.textContent)) === "Skip to the content", "the first stop is not the skip link");
  await page.keyboard.press("Enter");
  want((await page.evaluate(() => document.activeElement.id)) === "main", "the skip link leads nowhere");
  await page.getByRole("navigation").getByRole("link", { name: "Queues" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Queues" }).waitFor();
  const tree = page.getByRole("treegrid", { name: "Queues" });
  await tree.getByRole("row").first().focus();
  await page.keyboard.press("ArrowLeft"); // closes root
  await until("a closed tree", async () => (await tree.getByRole("row").count()) === 1);
  await page.keyboard.press("ArrowRight");
  await until("an open tree", async () => (await tree.getByRole("row").count()) === 6);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Queue root.default" }).waitFor();
  await show(page, "/apps");
  await page.getByRole("button", { name: "Name" }).focus();
  await page.keyboard.press("Enter");
  await page.locator('[role=columnheader][aria-sort=ascending]').waitFor();
  await until("the order of names", async () => (await page.getByRole("row").nth(1).innerText()).includes('"><img'));
  await page.getByLabel("Id, name, user or queue").fill("nightly");
  await until("one row", async () => (await page.getByRole("row").count()) === 2);
  await show(page, `/apps/${ids.waits}`);
  const kill = page.getByRole("button", { name: "Kill" });
  await kill.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await axe(page, "the dialog");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await until("the focus back on its button", async () => page.evaluate(() => document.activeElement.textContent === "Kill"));
  await page.context().close();
});

await test("a list of 100,000 rows keeps few of them", async () => {
  const page = await open();
  const most = 100_000;
  await page.route("**/app-list*", (route) => {
    const q = new URL(route.request().url()).searchParams, offset = Number(q.get("offset")), limit = Number(q.get("limit"));
    want(limit <= 1000, `asks for ${limit} rows at once`);
    const app = Array.from({ length: Math.min(limit, most - offset) }, (_, i) => ({ id: `application_1_${offset + i}`, name: `n${offset + i}`, user: "u", queue: "root.default", type: "T", state: "FINISHED", finalStatus: "SUCCEEDED", priority: 0, progress: 100, started: 1, finished: 2 }));
    void route.fulfill({ json: { appList: { total: most, matching: most, offset, app } } });
  });
  await show(page, "/apps");
  await page.getByText("100,000 in all").waitFor();
  for (const [share, name] of [[0.5, "n5"], [1, "n99999"]]) {
    const began = Date.now();
    await page.getByRole("group", { name: "Applications, scrolls" }).evaluate((e, s) => { e.scrollTop = e.scrollHeight * s; }, share);
    await page.locator(".grid-body").getByText(name, { exact: share === 1 }).first().waitFor();
    want(Date.now() - began < 2000, `scrolling took ${Date.now() - began} ms`);
    want((await page.locator(".grid-body [role=row]").count()) < 100, "all rows are there");
  }
  await page.context().close();
});

await test("an event has what is shown asked for anew", async () => {
  const page = await open();
  let streams = 0, say;
  const asked = [], shown = new Promise((f) => { say = f; }); // how many streams there were at each look after the event, which comes when the page is there
  await page.route("**/cluster/events", async (route) => {
    if (route.request().method() === "HEAD") return route.fulfill({ status: 200 });
    await shown;
    return route.fulfill({ contentType: "text/event-stream", body: `retry: 60000\nid: 1-${++streams}\ndata: {"type":"node"}\n\n` });
  });
  await page.route("**/node-list*", (route) => { if (streams > 0) asked.push(streams); return route.continue(); });
  await show(page, "/nodes");
  say();
  await until("the next look", () => asked.length > 0);
  want(asked[0] === 1, `${asked[0]} streams`);
  await page.context().close();
});

await test("actions: kill, move, priority, with a preview", async () => {
  const page = await open({}, "root");
  const dialog = page.getByRole("dialog");
  await show(page, `/apps/${ids.first}`);
  await page.getByRole("button", { name: "Move" }).click();
  await dialog.getByLabel("To queue").selectOption("root.adhoc.sci");
  await dialog.getByText("After the move").waitFor();
  await dialog.getByRole("button", { name: "Move it" }).click();
  await until("the move", async () => (await call("GET", `apps/${ids.first}`)).app.queue === "root.adhoc.sci");
  await page.getByRole("link", { name: "root.adhoc.sci" }).waitFor();
  await page.getByRole("button", { name: "Priority" }).click();
  await dialog.getByLabel("Priority").fill("5"); // more than the cluster's largest, 0
  await dialog.getByRole("button", { name: "Set" }).click();
  await until("the priority", async () => (await call("GET", `apps/${ids.first}`)).app.priority === 0);
  await page.getByRole("button", { name: "Kill" }).click();
  await dialog.getByText("ends at once").waitFor();
  await dialog.getByLabel("Reason").fill("no longer <needed>");
  await dialog.getByRole("button", { name: "Kill it" }).click();
  await until("the end", async () => (await call("GET", `apps/${ids.first}`)).app.state === "KILLED");
  await page.getByText("no longer <needed>").first().waitFor();
  await show(page, "/apps");
  await page.getByLabel(`Choose ${ids.turned}`).check();
  await page.getByRole("button", { name: "Kill 1 chosen" }).click();
  await dialog.getByText("safe\\u202egnp.exe").waitFor();
  await dialog.getByRole("button", { name: "Kill them" }).click();
  await until("the end of the chosen one", async () => (await call("GET", `apps/${ids.turned}`)).app.state === "KILLED");
  await page.context().close();
});

await test("actions: drain a node and take it back", async () => {
  const page = await open({}, "root");
  const dialog = page.getByRole("dialog");
  await show(page, `/nodes/${encodeURIComponent(node)}`);
  await page.getByRole("button", { name: "Drain" }).click();
  await dialog.getByLabel("Reason").fill("new disks");
  await dialog.getByRole("button", { name: "Show what will happen" }).click();
  await dialog.getByText("Nothing is changed yet").waitFor();
  want((await call("GET", `nodes/${encodeURIComponent(node)}`)).node.state === "RUNNING", "a preview has drained the node");
  await dialog.getByRole("button", { name: "Drain", exact: true }).click();
  await until("the drain", async () => /DECOMMISSION/.test((await call("GET", `nodes/${encodeURIComponent(node)}`)).node.state));
  await show(page, "/drains");
  await page.getByText("new disks").waitFor();
  await axe(page, "drains");
  await page.getByRole("button", { name: "Take back" }).first().click();
  await dialog.getByRole("button", { name: "Take the order back" }).click();
  await until("the way back", async () => ((await call("GET", "drains")).drains.node ?? []).length === 0);
  await page.context().close();
});

await test("configuration: plan, apply on trial, confirm, roll back", async () => {
  const page = await open({}, "root");
  const dialog = page.getByRole("dialog");
  const version = async () => (await call("GET", "scheduler-conf/history")).schedulerConfHistory;
  const before = (await version()).version;
  await show(page, "/config?tab=change");
  const text = page.getByLabel("All properties, one a line");
  const now = await text.inputValue();
  await text.fill(now.replace("root.etl.capacity = 40", "root.etl.capacity = 55"));
  await page.getByRole("button", { name: "Show plan" }).click();
  await page.getByText("It would be refused").waitFor();
  want(!(await page.getByRole("button", { name: "Apply" }).count()), "a change that would be refused can be applied");
  await text.fill(now.replace("root.etl.maximum-capacity = 80", "root.etl.maximum-capacity = 70"));
  await page.getByRole("button", { name: "Show plan" }).click();
  await page.getByRole("heading", { name: /It would be accepted/ }).waitFor();
  await axe(page, "the plan");
  await page.getByRole("button", { name: "Apply" }).click();
  await dialog.getByLabel("Reason").fill("ticket 7");
  await dialog.getByLabel(/Take it back after/).fill("30");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await until("the next version", async () => (await version()).version === before + 1);
  await page.getByRole("button", { name: "Confirm" }).click();
  await dialog.getByRole("button", { name: "Keep it" }).click();
  await until("the end of the trial", async () => !(await version()).trial);
  await show(page, "/config?tab=history");
  await page.getByText("ticket 7").waitFor();
  await page.getByText(String(before), { exact: true }).first().click();
  await page.getByRole("button", { name: `Roll back to ${before}` }).click();
  await dialog.getByText("This changes:").waitFor();
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await until("the rollback", async () => (await version()).version === before + 2);
  await page.context().close();
});

await test("the end of a container's log is on the application's page", async () => {
  const page = await open({}, "root");
  const says = await call("POST", "apps/new-application");
  const id = says["application-id"], hostile = "<b>not bold</b>\\u202e";
  await call("POST", "apps", { "application-id": id, "application-name": "talks", queue: "root.default", "am-container-spec": { commands: { command: `(printf '%s' '${hostile}'; seq -f 'line %.0f' 20000; sleep 300) 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr` } }, resource: { memory: 256, vCores: 1 }, "max-app-attempts": 1 });
  await until("its container", async () => list(await call("GET", `apps/${id}/appattempts`)).some((t) => t.appAttemptState === "LAUNCHED"));
  await show(page, `/apps/${id}`);
  const logs = page.getByRole("region", { name: "Logs" });
  await logs.getByText("line 20000").waitFor();
  await axe(page, "an application with its log");
  await page.context().close();
  await call("PUT", `apps/${id}/state`, { state: "KILLED" });
});

await test("queues that a store keeps are not refreshed from a file, and the dialog says so", async () => {
  const page = await open({}, "root");
  await show(page, "/queues");
  await page.getByRole("button", { name: "Refresh queues" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Show what will happen" }).click();
  await page.getByRole("dialog").getByText("kept in a store").waitFor();
  await page.context().close();
});

await test("the configuration can be taken away as a file", async () => {
  const page = await open({}, "root");
  await show(page, "/config");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export as XML" }).click()]);
  const text = await new Response((await import("node:fs")).createReadStream(await file.path())).text();
  want(text.includes("<name>yarn.scheduler.capacity.root.etl.capacity</name>\n    <value>40</value>"), text.slice(0, 300));
  await page.context().close();
});

await test("rights: who has none is refused with the server's words, who has no name gets no buttons", async () => {
  const page = await open({}, "mallory");
  await show(page, `/nodes/${encodeURIComponent(node)}`);
  await page.getByRole("button", { name: "Drain" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Show what will happen" }).click();
  await page.getByText("Nothing is changed yet").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "mallory" }).waitFor();
  want((await call("GET", `nodes/${encodeURIComponent(node)}`)).node.state === "RUNNING", "the node drains");
  await page.context().close();
  const nobody = await open();
  await show(nobody, `/apps/${ids.waits}`);
  want(!(await nobody.getByRole("button", { name: "Kill" }).count()), "nobody may kill");
  await nobody.getByRole("button", { name: "Sign in" }).click();
  await nobody.getByLabel("User").fill("root");
  await nobody.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await nobody.getByRole("button", { name: "Kill" }).waitFor();
  await nobody.context().close();
});

await test("pages of other origins change nothing, the ResourceManager's main port among them", async () => {
  const page = await open({}, "root");
  await show(page, `/apps/${ids.waits}`, PAGES);
  want(!(await page.getByRole("button", { name: "Kill" }).count()), "the main port has a button that changes something");
  want((await page.getByRole("link", { name: "Change things here" }).getAttribute("href"))?.startsWith(writable), "it does not say from where things are changed");
  await page.goto(`${PAGES}/isActive`); // without a policy of ours, as an application's page behind the proxy is
  for (const target of [writable, PAGES]) {
    const status = await page.evaluate(async ([at, id]) => {
      try { return (await fetch(`${at}/ws/v1/cluster/apps/${id}/state?user.name=root`, { method: "PUT", body: '{"state":"KILLED"}', headers: { "Content-Type": "application/json" }, credentials: "include" })).status; } catch { return 0; }
    }, [target, ids.waits]);
    want(status === 0 || status === 403, `${target} answered ${status}`);
  }
  const simple = await page.evaluate(async ([at]) => (await fetch(`${at}/ws/v1/cluster/drains`, { method: "POST", body: "{}", mode: "no-cors", credentials: "include" })).type, [writable]);
  want(simple === "opaque", simple);
  want((await call("GET", `apps/${ids.waits}`)).app.state === "ACCEPTED", "the application was killed");
  await page.goto(`${PAGES}/cluster/app/${ids.waits}`);
  await page.getByRole("link", { name: "This page live" }).click();
  await page.getByRole("heading", { level: 1, name: ids.waits }).waitFor();
  await page.context().close();
});

await test("no page asks another place, breaks, or is broken by its policy", async () => want(wrong.length === 0, [...new Set(wrong)].slice(0, 20).join("\n")));

await browser.close();
shell.kill();
ui.total();
