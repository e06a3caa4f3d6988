// The tests behind test/ui/run on clusters of other kinds: FILE_PAGES has its queues from FILE_CONF and its nodes by EXCLUDE; FAIR_PAGES has the
// FairScheduler with FAIR_FILE; ACTIVE and STANDBY are two ResourceManagers of one cluster, made so by YARN with the configuration PAIR.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import * as ui from "./lib.mjs";
import { axe, test, until, want } from "./lib.mjs";

const { FILE_PAGES, FILE_CONF, EXCLUDE, FAIR_PAGES, FAIR_FILE, ACTIVE, STANDBY, PAIR, YARN } = process.env;
const file = ui.caller(FILE_PAGES), fair = ui.caller(FAIR_PAGES);
const browser = await ui.launch();
const wrong = [];
/** The address of a cluster from which things are changed, once its nodes are there. */
async function ready(call) {
  await until("two nodes", async () => (await call("GET", "metrics")).clusterMetrics.activeNodes === 2);
  return (await call("GET", "session")).session.changesAt;
}
async function open(base, main) {
  const page = await ui.open(browser, [new URL(base).host, new URL(main).host], wrong);
  await page.context().request.get(`${base}/ws/v1/cluster/session?user.name=root`);
  return page;
}
const at = { file: await ready(file), fair: await ready(fair) };
const submit = async (call, queue) => {
  const id = (await call("POST", "apps/new-application"))["application-id"];
  await call("POST", "apps", { "application-id": id, "application-name": "waits-or-not", queue, "am-container-spec": { commands: { command: "sleep 600" } }, resource: { memory: 256, vCores: 1 }, "max-app-attempts": 1 });
  return id;
};

await test("a file's queues: each limit names the line where it is written", async () => {
  const page = await open(at.file, FILE_PAGES);
  await ui.show(page, at.file, "/queues/root.default");
  const limits = page.getByRole("group", { name: "Limits", exact: true });
  await limits.getByText(/capacity-scheduler\.xml:\d+/).first().waitFor();
  const share = limits.getByRole("row").filter({ hasText: "Share for ApplicationMasters" });
  await share.getByText("all queues").waitFor();
  await axe(page, "a queue with the lines of its limits");
  await page.context().close();
});

await test("a file's queues are refreshed after a look at what changes", async () => {
  const page = await open(at.file, FILE_PAGES), dialog = page.getByRole("dialog"), name = `${FILE_CONF}/capacity-scheduler.xml`;
  const text = readFileSync(name, "utf8");
  const amShare = async () => (await file("GET", "scheduler")).scheduler.schedulerInfo.queues.queue[0].configuredMaxAMResourceLimit;
  await ui.show(page, at.file, "/queues");
  writeFileSync(name, text.replace("</configuration>", "<property><name>yarn.scheduler.capacity.root.default.capacity</name><value>30</value></property></configuration>"));
  await page.getByRole("button", { name: "Refresh queues" }).click();
  await dialog.getByRole("button", { name: "Show what will happen" }).click();
  await dialog.getByText(/Failed to re-init queues/).waitFor();
  want(!(await dialog.getByRole("button", { name: "Refresh", exact: true }).count()), "a file that would be refused can be taken over");
  await page.keyboard.press("Escape");
  writeFileSync(name, text.replace(/(maximum-am-resource-percent<\/name>\s*<value>)[^<]*/, "$10.75"));
  await page.getByRole("button", { name: "Refresh queues" }).click();
  await dialog.getByRole("button", { name: "Show what will happen" }).click();
  await dialog.getByText("maximum-am-resource-percent").first().waitFor();
  await axe(page, "the preview of a refresh");
  want(Math.abs((await amShare()) - 0.5) < 0.01, `a preview has changed the queues: ${await amShare()}`);
  await dialog.getByRole("button", { name: "Refresh", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await until("the new limit", async () => Math.abs((await amShare()) - 0.75) < 0.01);
  await page.context().close();
});

await test("the lists of nodes are refreshed after a look at which nodes change", async () => {
  const page = await open(at.file, FILE_PAGES), dialog = page.getByRole("dialog");
  const node = (await file("GET", "node-list")).nodeList.node[0].id;
  const state = async () => (await file("GET", `nodes/${encodeURIComponent(node)}`)).node.state;
  await ui.show(page, at.file, "/nodes");
  writeFileSync(EXCLUDE, "localhost\n127.0.0.1\n" + node.split(":")[0] + "\n");
  await page.getByRole("button", { name: "Refresh nodes" }).click();
  await dialog.getByLabel("Nodes that must leave drain first").uncheck();
  await dialog.getByRole("button", { name: "Show what will happen" }).click();
  await dialog.getByRole("row").filter({ hasText: node }).getByText("decommissioned").waitFor();
  want((await state()) === "RUNNING", "a preview has taken a node out");
  await dialog.getByRole("button", { name: "Refresh", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await until("the node's end", async () => (await state()) === "DECOMMISSIONED");
  writeFileSync(EXCLUDE, "");
  await page.getByRole("button", { name: "Refresh nodes" }).click();
  await dialog.getByRole("button", { name: "Show what will happen" }).click();
  await dialog.getByRole("row").filter({ hasText: node }).getByText("running").waitFor();
  await page.context().close();
});

await test("who is no administrator may not refresh", async () => {
  for (const what of ["queues", "nodes"]) for (const dry of [true, false]) {
    const e = await file("POST", `refresh/${what}?dryRun=${dry}`, undefined, "mallory").then(() => "", (x) => String(x));
    want(/401/.test(e) && /administrators/.test(e), `${what}: ${e}`);
  }
});

await test("the FairScheduler: every page, its words, and what its queues are kept for", async () => {
  const page = await open(at.fair, FAIR_PAGES);
  const id = await submit(fair, "root.etl");
  await submit(fair, "root.made.here").catch(() => {});
  await until("its container", async () => (await fair("GET", `apps/${id}`)).app.state !== "NEW");
  for (const path of ["/", "/queues", "/queues/root.etl", "/apps", `/apps/${id}`, "/nodes", "/activities", "/preemptions", "/reservations", "/config", "/daemon"]) {
    await ui.show(page, at.fair, path);
    await axe(page, `${path} with the FairScheduler`);
  }
  await ui.show(page, at.fair, "/queues/root.etl");
  for (const words of ["Instantaneous fair share", "Steady fair share", "Min Resources", "Max Running Applications", "the allocation file names it"]) await page.getByText(words).first().waitFor();
  await ui.show(page, at.fair, "/config");
  await page.getByText("in its own file").first().waitFor();
  await ui.show(page, at.fair, "/activities");
  await page.getByText("Only the CapacityScheduler").waitFor();
  await page.context().close();
});

await test("the FairScheduler's file is refreshed, a wrong one refused beforehand", async () => {
  const page = await open(at.fair, FAIR_PAGES), dialog = page.getByRole("dialog"), text = readFileSync(FAIR_FILE, "utf8");
  await ui.show(page, at.fair, "/queues");
  writeFileSync(FAIR_FILE, text.replace("<weight>3</weight>", "<weight>many</weight>"));
  await page.getByRole("button", { name: "Refresh queues" }).click();
  await dialog.getByRole("button", { name: "Show what will happen" }).click();
  await dialog.getByText(/many/).waitFor();
  writeFileSync(FAIR_FILE, text);
  await dialog.getByRole("button", { name: "Show what will happen" }).click();
  await dialog.getByText("The file is right").waitFor();
  await dialog.getByRole("button", { name: "Refresh", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await page.context().close();
});

await test("a standby leads to the active ResourceManager, and a page says when its own has become one", async () => {
  const page = await ui.open(browser, [new URL(ACTIVE).host, new URL(STANDBY).host], wrong);
  await page.goto(`${STANDBY}/ui/apps`);
  await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
  want(page.url().startsWith(ACTIVE), `it stays at ${page.url()}`);
  await page.locator("header").getByText("active").waitFor();
  execFileSync(YARN, ["--config", PAIR, "rmadmin", "-transitionToStandby", "rm1"], { stdio: "pipe" });
  execFileSync(YARN, ["--config", PAIR, "rmadmin", "-transitionToActive", "rm2"], { stdio: "pipe" });
  const link = page.getByRole("link", { name: "Go to the active one" });
  await link.waitFor();
  await axe(page, "a page whose ResourceManager has become a standby");
  await link.click();
  await until("the active one's page", () => page.url().startsWith(STANDBY));
  await page.getByRole("heading", { level: 1, name: "Applications" }).waitFor();
  await page.context().close();
});

await test("no page of these asks another place, breaks, or is broken by its policy", async () => want(wrong.length === 0, [...new Set(wrong)].slice(0, 20).join("\n")));
await browser.close();
ui.total();
