// The tests behind test/ui/upstream that use Apache's interface of the CapacityScheduler's queues as an operator does, by clicks and keys, and look at the outcome
// over REST and in the page. Elements are found by what they are and say in 3.5; if one is missing, the test fails and says which.
// Run by itself it needs PAGES, the address of a ResourceManager with two nodes; YARN and CONF, a yarn command and a configuration for one application there; and
// CHROMIUM. READ_ONLY is the address of a ResourceManager whose interface is read-only; upstream-lib.mjs has the other variables.
import { spawn } from "node:child_process";
import * as ui from "./lib.mjs";
import { test, until, want } from "./lib.mjs";
import { browser, call, open, property, shot, shows, text, writable } from "./upstream-lib.mjs";

const { YARN, CONF, READ_ONLY } = process.env;
const hostile = "<img src=x onerror='pwned=1'>";
const params = (of) => ({ entry: Object.entries(of).map(([key, value]) => ({ key, value: String(value) })) });
const put = (change) => call("PUT", "scheduler-conf", change);
const conf = async () => Object.fromEntries((await call("GET", "scheduler-conf")).property.map((p) => [p.name, p.value]));
const queue = async (path) => {
  const find = (q) => q.queuePath === path ? q : (q.queues?.queue ?? []).map(find).find(Boolean);
  return find((await call("GET", "scheduler")).scheduler.schedulerInfo);
};
const shares = async (path) => { const q = await queue(path); return `${Math.round(q.capacity)} ${Math.round(q.maxCapacity)}`; };
const config = (path, name) => conf().then((c) => c[property(`${path}.${name}`)]);

await until("two nodes", async () => (await call("GET", "metrics")).clusterMetrics.activeNodes === 2, 60);
if (!await queue("root.etl")) {
  await put({ "update-queue": { "queue-name": "root.default", params: params({ capacity: 60 }) }, "add-queue": { "queue-name": "root.etl", params: params({ capacity: 40, "maximum-capacity": 80 }) } });
}
const shell = spawn(YARN, ["--config", CONF, "shell", "-n", "1", "-memory", "256", "-name", "live", "-queue", "root.etl", "--", "sleep 600"], { stdio: "ignore" });
const live = await until("a running application", async () => (await call("GET", "apps?states=RUNNING")).apps?.app?.find((a) => a.name === "live"));
await until("its two containers", async () => (await call("GET", `apps/${live.id}`)).app.runningContainers === 2);

// Badges bounce and panels slide, and a click would wait for them: animations are cut short.
const still = () => addEventListener("DOMContentLoaded", () => document.head.append(Object.assign(document.createElement("style"), { textContent: "*, ::before, ::after { animation-duration: 1ms !important; animation-iteration-count: 1 !important; transition-duration: 1ms !important }" })));
/** A page of the interface, and what is done on it. Without a user the interface signs in as its own, yarn. */
async function operator(path = "", { base = writable, options, user = "" } = {}) {
  const { page, wrong, close } = await open(base, user, options);
  await page.addInitScript(still);
  const o = { page, wrong, close };
  const named = (role, name, within = page) => within.getByRole(role, { name, exact: typeof name === "string" }).first();
  o.go = async (path) => {
    await page.goto(`${base}/scheduler-ui/${path}`);
    await (path ? page.getByRole("heading", { level: 1 }).last() : o.card("root")).waitFor();
  };
  o.card = (path) => page.getByText(path, { exact: true }).first();
  o.click = (role, name, within) => named(role, name, within).click();
  // The box below a text, for few have labels.
  o.box = (name, within = page) => within.getByText(name, { exact: true }).first().locator("xpath=following::input[1]");
  o.fill = async (name, value, within) => { const box = o.box(name, within); await box.fill(value); await box.blur(); };
  o.menu = async (path, item) => { await o.card(path).click({ button: "right" }); await o.click("menuitem", item); };
  o.panel = async (path, tab) => {
    await o.card(path).click();
    const dialog = named("dialog", `Queue: ${path.split(".").pop()}`);
    await o.click("tab", tab, dialog);
    return dialog;
  };
  o.section = async (dialog, name) => { const s = named("button", name, dialog); if (await s.getAttribute("aria-expanded") === "false") await s.click(); };
  o.says = (...all) => shows(page, "what the page says", ...all);
  o.choose = async (box, option) => { await box.click(); await o.click("option", option); };
  /** Opens the drawer of staged changes and waits until it shows all of what. */
  o.staged = async (...what) => { await o.click("button", /View Staged Changes/); await o.says("Staged Changes", ...what); return named("dialog", /Staged Changes/); };
  o.apply = async (...what) => { await o.click("button", /^Apply All Changes/, await o.staged(...what)); };
  o.gone = (role, name) => named(role, name).waitFor({ state: "hidden" });
  /** The drawer closes when all is applied; what it says then may be of the time before. */
  o.applied = async (...what) => { await o.apply(...what); await o.gone("dialog", /Staged Changes/); await o.says("All changes applied successfully"); };
  await o.go(path);
  return o;
}
const operates = (name, path, run, options) => test(`the scheduler's interface, used: ${name}`, async () => {
  const o = await operator(path, options);
  try { const said = await run(o); want(o.wrong.length === 0, o.wrong.join("\n")); return said; } catch (e) {
    await shot(o.page, `used-failed-${name.replace(/[^a-z0-9]+/gi, "-")}`);
    throw new Error(`${e.message}; the page says: ${(await text(o.page)).replace(/\s+/g, " ").slice(0, 900)}`);
  } finally { await o.close(); }
});

await operates("a queue's panel shows its use, and a property that is staged there is applied", "", async (o) => {
  let panel = await o.panel("root.etl", "Overview");
  await o.says(/Applications\s*1/i, /Memory\s*\d+ MB/i, "Leaf Queue", "80.00%", /\d+\.\d% used/);
  await shot(o.page, "used-panel");
  await o.click("tab", "Info", panel);
  for (const s of ["Application Limits & Policies", "Container Information", "Access & Priority"]) await o.section(panel, s);
  await o.says(/Num Containers:\s*2/, /Active Applications:\s*1/, /SUBMIT_APP:/, /Queue State:\s*RUNNING/);
  await shot(o.page, "used-info");
  await o.click("tab", "Settings", panel);
  await o.section(panel, /^Application Limits/);
  await o.fill("Maximum Applications", "77", panel);
  await o.fill("User Limit Factor", "2", panel);
  await shot(o.page, "used-settings");
  await o.click("button", /^Stage Changes/, panel);
  await o.click("button", "Close", panel);
  want(await config("root.etl", "maximum-applications") === undefined, "what is only staged was sent");
  await o.applied("root.etl", "maximum-applications", "user-limit-factor", "77");
  want(await config("root.etl", "maximum-applications") === "77" && await config("root.etl", "user-limit-factor") === "2" && (await queue("root.etl")).maxApplications === 77, "it was not applied");
  panel = await o.panel("root.etl", "Info");
  await o.section(panel, "Application Limits & Policies");
  await o.says(/Max Applications:\s*77/);
});
await operates("the capacities of siblings are changed together, with keys", "", async (o) => {
  await o.menu("root.etl", "Edit Capacity");
  const editor = o.page.getByRole("dialog", { name: "Capacity Editor" }), boxes = editor.getByRole("textbox");
  await editor.waitFor();
  // A row of each sibling: capacity and maximum. That of the queue whose editor it is comes first or second.
  const rows = await boxes.evaluateAll((all) => all.map((b) => b.value));
  const etl = rows.indexOf("80") - 1, other = etl === 0 ? 2 : 0;
  await boxes.nth(etl).fill("70");
  await shot(o.page, "used-capacities-exceed");
  await o.says(/sum|exceed|100/i);
  await boxes.nth(other).fill("30");
  await boxes.nth(etl + 1).fill("90");
  await shot(o.page, "used-capacities");
  await o.page.keyboard.press("Control+s");
  await o.gone("dialog", "Capacity Editor");
  await o.page.keyboard.press("Control+s");
  await o.says("Staged Changes", "root.default", "root.etl", "90");
  await shot(o.page, "used-staged");
  await o.page.keyboard.press("Control+s");
  await o.says("All changes applied successfully");
  want(await shares("root.etl") === "70 90" && await shares("root.default") === "30 100", `the capacities: ${await shares("root.etl")}`);
  await o.says(/70%/, /Maximum capacity:\s*90%/, /30%/);
});
/** Replaces numbers in the capacity editor, which is about to open, and saves. */
async function edited(o, ...changes) {
  const editor = o.page.getByRole("dialog", { name: "Capacity Editor" }), boxes = editor.getByRole("textbox");
  await editor.waitFor();
  const rows = await boxes.evaluateAll((all) => all.map((b) => b.value));
  for (const [from, to] of changes) await boxes.nth(rows.indexOf(String(from))).fill(String(to));
  await o.click("button", /^Save changes/, editor);
  await o.gone("dialog", "Capacity Editor");
}
await operates("a queue is added, stopped, started and removed", "", async (o) => {
  await o.menu("root", "Add Child Queue");
  await o.page.getByLabel(/^Queue Name/).fill("fresh");
  await o.click("button", "Create Queue");
  await edited(o, [10, 20], [70, 50]);
  await o.applied("root.fresh", "root.etl");
  want((await queue("root.fresh")).state === "RUNNING" && await shares("root.fresh") === "20 100" && await shares("root.etl") === "50 90", "the new queue");
  await o.says("root.fresh");
  await shot(o.page, "used-added");
  await o.menu("root.fresh", "Stop Queue");
  await o.applied("root.fresh", "STOPPED");
  want((await queue("root.fresh")).state === "STOPPED", "it was not stopped");
  await shot(o.page, "used-stopped");
  await o.panel("root.fresh", "Overview");
  await o.says("STOPPED");
  await o.click("button", "Close");
  await o.menu("root.fresh", "Start Queue");
  await o.applied("root.fresh", "RUNNING");
  want((await queue("root.fresh")).state === "RUNNING", "it was not started");
  // What goes leaves its share to another.
  await o.menu("root.etl", "Edit Capacity");
  await edited(o, [20, 0], [50, 70]);
  await o.applied("root.fresh", "root.etl");
  await o.menu("root.fresh", "Mark for Deletion");
  await o.click("button", "Mark for Deletion", o.page.getByRole("dialog"));
  await o.applied("root.fresh");
  want(!await queue("root.fresh") && await shares("root.etl") === "70 90", "it was not removed");
  await until("a tree without it", async () => !/root\.fresh/.test(await text(o.page)), 20);
});
await operates("a queue with an application drains when it is stopped", "", async (o) => {
  await o.menu("root.etl", "Stop Queue");
  await o.applied("root.etl", "STOPPED");
  want((await queue("root.etl")).state === "DRAINING", `it is ${(await queue("root.etl")).state}`);
  await o.panel("root.etl", "Overview");
  await o.says("DRAINING");
  await shot(o.page, "used-draining");
  await o.click("button", "Start Queue");
  await o.click("button", "Close");
  await o.applied("root.etl", "RUNNING");
  want((await queue("root.etl")).state === "RUNNING", "it was not started");
});
await operates("what the ResourceManager refuses changes nothing, and the page says why", "", async (o) => {
  const before = await conf();
  await o.menu("root.default", "Mark for Deletion");
  await o.click("button", "Mark for Deletion", o.page.getByRole("dialog"));
  await o.apply("root.default");
  await o.says("Failed to apply changes", /capacities|capacity sum/i);
  await shot(o.page, "used-refused");
  want(o.wrong.length === 1 && /^400 POST .*\/scheduler-conf\/validate/.test(o.wrong[0]), `what was answered: ${o.wrong}`);
  o.wrong.length = 0;
  const after = await conf();
  delete after[property("root.default.state")]; delete before[property("root.default.state")];
  want(JSON.stringify(after) === JSON.stringify(before) && (await queue("root.default")).state === "RUNNING", "something changed");
  await o.click("button", /^Clear All/);
  await o.says("All staged changes cleared");
});
await operates("a global setting", "global-settings", async (o) => {
  await o.fill("Maximum Applications (Global)", "8888");
  await shot(o.page, "used-global");
  await o.applied("maximum-applications", "8888");
  want((await conf())[property("maximum-applications")] === "8888", "it was not applied");
  await o.go("global-settings");
  await until("the setting", async () => await o.box("Maximum Applications (Global)").inputValue() === "8888", 20);
});
await operates("a placement rule, with which an application is placed", "placement-rules", async (o) => {
  await o.click("button", /^Add (First )?Rule/);
  await o.fill("Match Pattern", "placed");
  await o.choose(o.page.getByRole("combobox").nth(1), "Custom Placement");
  await o.fill("Custom Placement Pattern", "root.etl");
  await shot(o.page, "used-rule");
  await o.click("button", /^(Add|Create|Save) (Rule|Changes)/);
  await o.applied("mapping-rule-json");
  want(JSON.parse((await conf())[property("mapping-rule-json")]).rules.some((r) => r.matches === "placed" && r.customPlacement === "root.etl"), "the rule was not applied");
  await o.says("placed", "Custom");
  await shot(o.page, "used-rules");
  const id = (await call("POST", "apps/new-application", undefined, "placed"))["application-id"];
  await call("POST", "apps", { "application-id": id, "application-name": "placed", "am-container-spec": { commands: { command: "sleep 600" } }, resource: { memory: 256, vCores: 1 } }, "placed");
  await until("its queue", async () => /etl$/.test((await call("GET", `apps/${id}`)).app.queue), 20);
  await call("PUT", `apps/${id}/state`, { state: "KILLED" });
});
await operates("a label is added, given to a node, and removed", "node-labels", async (o) => {
  const labels = async () => [(await call("GET", "get-node-labels")).nodeLabelInfo ?? []].flat().map((l) => `${l.name} ${l.exclusivity}`).join();
  const given = async () => [(await call("GET", "get-node-to-labels")).nodeToLabels?.entry ?? []].flat().map((e) => `${e.key} ${[e.value.nodeLabelInfo].flat().map((l) => l.name)}`).join();
  await o.click("button", /^Add/);
  await o.fill("Label Name", "g p u");
  await o.click("button", "Add Label");
  await o.says(/letters, numbers|invalid|can only contain/i);
  await o.fill("Label Name", "gpu");
  await o.page.getByRole("switch").click();
  await o.click("button", "Add Label");
  await o.says("1 label available", "Exclusive");
  want(await labels() === "gpu true", `the labels: ${await labels()}`);
  const row = o.page.getByRole("row").nth(1), node = (await call("GET", "nodes")).nodes.node[0];
  await o.choose(row.getByRole("combobox"), /^gpu/);
  await until("a node with the label", async () => await given() === `${node.id} gpu`, 20);
  await o.page.getByText("gpu", { exact: true }).first().click();
  await o.says(/Nodes with label:\s*gpu \(1\)/);
  await shot(o.page, "used-labels");
  await o.choose(row.getByRole("combobox"), /^Default/);
  await until("no node with the label", async () => await given() === "", 20);
  await o.page.getByRole("listitem").filter({ hasText: "gpu" }).getByRole("button").click();
  await o.says("0 labels available");
  want(await labels() === "", `the labels: ${await labels()}`);
});
await operates("a queue whose name is markup is text, and can be stopped and removed", "", async (o) => {
  const path = `root.${hostile}`;
  await put({ "add-queue": { "queue-name": path, params: params({ capacity: 0, "maximum-capacity": 100 }) } });
  await o.go("");
  await o.says(path);
  await o.panel(path, "Overview");
  await o.says(`Queue: ${hostile}`);
  await shot(o.page, "used-hostile");
  await o.click("button", "Close");
  await o.menu(path, "Stop Queue");
  await o.applied(path, "STOPPED");
  want((await queue(path)).state === "STOPPED", "it was not stopped");
  await o.menu(path, "Mark for Deletion");
  await o.click("button", "Mark for Deletion", o.page.getByRole("dialog"));
  await o.applied(path);
  want(!await queue(path), "it was not removed");
  want(!await o.page.evaluate(() => window.pwned), "a name is script");
});
for (const [colors, width, height] of [["light", 1360, 900], ["dark", 1360, 900], ["light", 600, 800], ["dark", 600, 800]]) await operates(`every page ${colors}, ${width} px wide`, "", async (o) => {
  for (const path of ["", "global-settings", "placement-rules", "node-labels"]) {
    await o.go(path);
    await ui.pause(700);
    await shot(o.page, `used-${path || "tree"}-${colors}-${width}`);
  }
}, { options: { viewport: { width, height }, colorScheme: colors } });
if (READ_ONLY) await operates("read-only, it applies no change and sends none", "", async (o) => {
  const sent = [];
  o.page.on("request", (r) => { if (r.method() !== "GET") sent.push(`${r.method()} ${r.url()}`); });
  await o.says("Read-Only");
  await o.menu("root.default", "Stop Queue");
  const drawer = await o.staged("root.default", "Read-Only Mode");
  want(await drawer.getByRole("button", { name: /^Apply All Changes/ }).isDisabled(), "changes can be applied");
  await shot(o.page, "used-read-only");
  await o.page.keyboard.press("Control+s");
  await o.says("Cannot apply changes in read-only mode");
  await o.go("node-labels");
  await o.click("button", /^Add/);
  await o.fill("Label Name", "gpu");
  await o.click("button", "Add Label");
  await o.says("Cannot add node labels in read-only mode");
  want(sent.length === 0, `sent: ${sent}`);
}, { base: (await ui.caller(READ_ONLY)("GET", "session")).session.changesAt });
shell.kill();
await browser.close();
ui.total();
