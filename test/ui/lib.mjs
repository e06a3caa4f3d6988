// What the browser tests share. CHROMIUM is the browser; ONLY, an expression, chooses tests by name.
import { createRequire } from "node:module";

const from = createRequire(new URL("../../ui/app/package.json", import.meta.url));
const { chromium } = from("playwright-core");
const { AxeBuilder } = from("@axe-core/playwright");

let passed = 0, failed = 0, current = "";
/** The name of the test that runs. */
export const running = () => current;
export async function test(name, run) {
  if (process.env.ONLY && !new RegExp(process.env.ONLY).test(name)) return;
  const began = Date.now();
  current = name;
  try { const said = await run(); passed++; console.log(`PASS ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)${said ? `: ${said}` : ""}`); } catch (e) {
    failed++; console.log(`FAIL ${name}: ${String(e?.stack ?? e).slice(0, 1500)}`);
  }
}
/** The last line, and the exit status. */
export function total() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}
export function want(ok, text) { if (!ok) throw new Error(text); }
export const pause = (ms) => new Promise((f) => setTimeout(f, ms));
export async function until(what, ask, seconds = 60) {
  for (let i = 0; i < seconds * 5; i++) { const x = await ask(); if (x) return x; await pause(200); }
  throw new Error(`${what} did not come within ${seconds} s`);
}
/** Asks a ResourceManager's web services. */
export const caller = (base) => async (method, path, body, user = "root") => {
  const r = await fetch(`${base}/ws/v1/cluster/${path}${path.includes("?") ? "&" : "?"}user.name=${user}`, { method, headers: { "Content-Type": "application/json", Accept: "application/json" }, body: body && JSON.stringify(body) });
  const text = await r.text();
  if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${text}`);
  try { return JSON.parse(text); } catch { return text; }
};
export const launch = (...args) => chromium.launch({ executablePath: process.env.CHROMIUM, args: [...args, "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });

/** A page in a context of its own. hosts are all that it may ask; what it does besides is noted in wrong. */
export async function open(browser, hosts, wrong, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("request", (r) => { const at = new URL(r.url()); if (at.protocol.startsWith("http") && !hosts.includes(at.host)) wrong.push(`asks ${r.url()}`); });
  page.on("pageerror", (e) => wrong.push(`error ${e.message}`));
  page.on("dialog", (d) => { wrong.push(`dialog ${d.message()}`); void d.dismiss(); });
  page.on("console", (m) => { if (/Content Security|Trusted ?Type|violat/i.test(m.text())) wrong.push(m.text()); });
  return page;
}
/** Goes to a page of the interface and waits until it has what it shows. */
export async function show(page, base, path) {
  await page.goto(`${base}/ui${path}`);
  await page.locator("main h1").waitFor();
  await page.waitForFunction(() => !/Loading…/.test(document.querySelector("main").innerText));
}
export async function axe(page, what, rule) {
  const builder = new AxeBuilder({ page });
  const { violations } = await (rule ? builder.withRules(rule) : builder.withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])).analyze();
  want(violations.length === 0, `${what}: ${violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target + " " + n.failureSummary.split("\n").slice(1, 3).join(" ")).join("; ")}`).join("\n")}`);
}
