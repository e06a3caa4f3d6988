// What the tests of Apache's interfaces share. PAGES is the ResourceManager's address, which may be Apache's, to see what the interface does there. With a
// folder SHOTS it leaves screenshots there, with a file RECORD each request to the web services and its answer.
import { appendFileSync } from "node:fs";
import * as ui from "./lib.mjs";
import { until } from "./lib.mjs";

export const { PAGES, SHOTS, RECORD } = process.env;
export const call = ui.caller(PAGES);
/** The port that takes changes. Apache's ResourceManager has only one. */
const session = (await call("GET", "session").catch(() => null))?.session;
export const writable = session?.changesAt ?? PAGES;
// Names outside are not looked up: the scheduler's interface of 3.5 asks for a font there, and waits for the answer where no policy forbids it.
export const browser = await ui.launch("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1");
export const property = (name) => `yarn.scheduler.capacity.${name}`;

// Answers that Apache gives too: what no default file sets, and pages' icons. Timeline and JobHistory servers, which are asked in vain, are no answers.
const missing = [/\/conf\?name=yarn\.resourcemanager\.cluster-id/, /\/conf\?name=mapreduce\.jobhistory\./, /favicon|\.map$|sort_(asc|both|desc)\.png/];
if (!session) missing.push(/\/scheduler-ui\/[a-z-]+$/); // Apache answers a page's address with the page and 404
// The policy of pages that Heddle serves forbids that font.
const elsewhere = /^Loading the stylesheet 'https:\/\/fonts\.googleapis\.com\//;
/** A page whose user is root, and what went wrong on it. */
export async function open(base = writable, user = "root", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, reducedMotion: "reduce", ...options }), wrong = [];
  if (user) await context.request.get(`${base}/ws/v1/cluster/session?user.name=${user}`);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (e) => wrong.push(`error ${e.message}`));
  page.on("console", (m) => { if (/Content Security|CORS policy|violat/i.test(m.text()) && !elsewhere.test(m.text())) wrong.push(m.text()); });
  page.on("response", (r) => { if (r.status() >= 400 && !missing.some((m) => m.test(r.url()))) wrong.push(`${r.status()} ${r.request().method()} ${r.url()}`); });
  let noted = Promise.resolve();
  if (RECORD) page.on("response", (r) => {
    const at = new URL(r.url()), q = r.request(), text = r.text().catch(() => null);
    if (/^\/(ws|conf)\b/.test(at.pathname)) noted = noted.then(async () => appendFileSync(RECORD, `${JSON.stringify({ test: ui.running(), method: q.method(), path: at.pathname + at.search, sent: q.postData(), status: r.status(), headers: r.headers(), text: await text })}\n`));
  });
  return { page, wrong, close: () => noted.then(() => context.close()) };
}
export const text = (page) => page.evaluate(() => document.body.innerText + [...document.querySelectorAll("svg text")].map((t) => t.textContent).join("\n"));
export async function shows(page, what, ...all) {
  let now = "";
  await until(`${what}: ${all}`, async () => { now = await text(page); return all.every((x) => x instanceof RegExp ? x.test(now) : now.includes(x)); }, 40).catch((e) => { throw new Error(`${e.message}; the page says: ${now.replace(/\s+/g, " ").slice(0, 600)}`); });
}
export const shot = (page, name) => SHOTS && page.screenshot({ path: `${SHOTS}/${name}.png` });
