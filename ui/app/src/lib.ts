// What all pages share: requests, addresses, and how values are written.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";

const base = "/ws/v1/cluster";

/** A refusal or failure, with what the server said. */
export class Failure extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}

/** How old answers may be, in seconds, but never older than the last change that was made here. The server has one ready then, and need not make one first. */
const mostAge = 3;
let changedAt = -Infinity, eventAt = -Infinity, missed = () => {};
const secondsSince = (t: number) => Math.floor((performance.now() - t) / 1000);

async function request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  let answer: Response;
  const age = Math.min(mostAge, secondsSince(changedAt));
  if (method !== "GET") changedAt = Infinity; // until it is answered
  else if (age > 0) headers = { ...headers, "Cache-Control": `max-age=${age}` };
  try {
    answer = await fetch(path.startsWith("/") ? path : `${base}/${path}`, {
      method, headers: { Accept: "application/json", "X-XSRF-Header": "ui", ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin", redirect: "manual",
    });
  } catch {
    throw new Failure(0, "The ResourceManager does not answer. This page asks again by itself.");
  } finally {
    if (method !== "GET") changedAt = performance.now();
  }
  if (method === "GET" && secondsSince(eventAt) <= age) missed(); // what is told may be from before the event
  if (answer.type === "opaqueredirect") throw new Failure(307, "This ResourceManager is a standby now. Load the page again: it leads to the active one.");
  const text = await answer.text();
  let parsed: any = text;
  try { parsed = text === "" ? {} : JSON.parse(text); } catch { /* a line of text */ }
  if (!answer.ok) {
    const said = parsed?.RemoteException?.message ?? (typeof parsed === "string" && !/^\s*</.test(parsed) ? parsed : "");
    throw new Failure(answer.status, said || `${method} ${path} was answered with status ${answer.status}.`);
  }
  return parsed;
}

export const get = <T,>(path: string) => request("GET", path) as Promise<T>;
export const change = <T,>(method: "PUT" | "POST" | "DELETE", path: string, body?: unknown, headers?: Record<string, string>) => request(method, path, body, headers) as Promise<T>;

/** How often what is shown is asked for while no events come. */
const pause = 5000;

/** A path's answer, asked for again as long as it is shown. */
export function useGet<T>(path: string | null, options: { every?: number | false } = {}) {
  return useQuery<T, Failure>({
    queryKey: [path], queryFn: () => get<T>(path!), enabled: path !== null, placeholderData: keepPreviousData,
    refetchInterval: options.every ?? (() => (live.on ? 60_000 : pause)), retry: false, staleTime: 1000,
  });
}

// Events: where the server has a stream of them, what is shown is asked for when something has changed.
const live = { on: false, listeners: new Set<() => void>() };
function setLive(on: boolean) { live.on = on; live.listeners.forEach((f) => f()); }
export const useLive = () => useSyncExternalStore((f) => { live.listeners.add(f); return () => live.listeners.delete(f); }, () => live.on);

/** Follows the events, if this server has them; a tab that is not seen follows none. */
export function useEvents() {
  const client = useQueryClient();
  useEffect(() => {
    let source: EventSource | undefined, timer: number | undefined, again: number | undefined, ended = false;
    const changed = () => { timer ??= window.setTimeout(() => { timer = undefined; void client.invalidateQueries(); }, 2000); };
    missed = () => { if (source) changed(); };
    const close = () => { window.clearTimeout(again); source?.close(); source = undefined; setLive(false); };
    const open = async () => {
      const there = await fetch(`${base}/events`, { method: "HEAD", headers: { Accept: "text/event-stream" }, redirect: "manual" }).then((r) => r.ok, () => false);
      if (!there || ended || source || document.hidden) return;
      source = new EventSource(`${base}/events`);
      source.onopen = () => { setLive(true); changed(); };
      source.onerror = () => { close(); again = window.setTimeout(seen, pause); }; // not by itself: it would follow a standby to another address
      source.onmessage = () => { eventAt = performance.now(); changed(); };
    };
    const seen = () => { if (document.hidden) close(); else void open(); };
    seen();
    document.addEventListener("visibilitychange", seen);
    return () => { ended = true; document.removeEventListener("visibilitychange", seen); window.clearTimeout(timer); close(); };
  }, [client]);
}

// Addresses.
export interface Place { path: string; query: URLSearchParams }
function place(): string { return window.location.pathname + window.location.search; }
const moved = new Set<() => void>();
window.addEventListener("popstate", () => moved.forEach((f) => f()));
export function go(to: string, replace = false) {
  if (to === place()) return;
  window.history[replace ? "replaceState" : "pushState"](null, "", to);
  moved.forEach((f) => f());
  if (!replace) window.scrollTo(0, 0);
}
export function usePlace(): Place {
  const at = useSyncExternalStore((f) => { moved.add(f); return () => moved.delete(f); }, place);
  const url = new URL(at, window.location.origin);
  return { path: url.pathname.replace(/^\/ui\/?/, "/").replace(/(.)\/$/, "$1"), query: url.searchParams };
}
/** Changes some parameters of the address; "" takes one away. */
export function setQuery(values: Record<string, string>) {
  const url = new URL(window.location.href);
  for (const [k, v] of Object.entries(values)) if (v === "") url.searchParams.delete(k); else url.searchParams.set(k, v);
  go(url.pathname + url.search, true);
}
export function queryOf(values: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(values)) if (v !== undefined && v !== "") q.set(k, String(v));
  const text = q.toString();
  return text === "" ? "" : `?${text}`;
}

// Values.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]|[\ud800-\udfff](?![\udc00-\udfff])/gu;
/** Foreign text with characters that are not seen as escapes, so that it cannot look like something else. */
export function visible(text: unknown): string {
  return String(text ?? "").replace(hidden, (c) => `\\u${c.codePointAt(0)!.toString(16).padStart(4, "0")}`);
}
/** Foreign text of several lines. */
export const visibleLines = (text: unknown) => String(text ?? "").split("\n").map(visible).join("\n");

export function memory(mb: number | undefined): string {
  if (mb === undefined || !Number.isFinite(mb)) return "–";
  if (Math.abs(mb) > 1e12) return "no limit";
  const units = ["MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (Math.abs(mb) >= 1024 && i < units.length - 1) { mb /= 1024; i++; }
  return `${i === 0 ? Math.round(mb) : mb.toFixed(mb < 10 ? 2 : 1)} ${units[i]}`;
}
export const count = (n: number | undefined) => (n === undefined ? "–" : n >= 2147483647 ? "no limit" : n.toLocaleString("en"));
export const percent = (n: number | undefined, digits = 0) => (n === undefined || !Number.isFinite(n) ? "–" : `${n.toFixed(digits)} %`);
export function amount(resource: string, n: number | undefined): string { return resource === "memory" ? memory(n) : count(n); }

export function duration(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}
const two = (n: number) => String(n).padStart(2, "0");
export function moment(ms: number | undefined): string {
  if (!ms || ms <= 0) return "–";
  const d = new Date(ms);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}
export const ago = (ms: number | undefined) => (!ms || ms <= 0 ? "–" : `${duration(Date.now() - ms)} ago`);
/** Hadoop leaves a list with nothing in it out, or sends one thing without its list. */
export const list = <T,>(x: T | T[] | undefined | null): T[] => (x === undefined || x === null ? [] : Array.isArray(x) ? x : [x]);
/** An address that may be linked: http and https alone. */
export function safe(address: unknown): string | undefined {
  try {
    const url = new URL(String(address));
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined;
  } catch { return undefined; }
}
export const part = encodeURIComponent;
