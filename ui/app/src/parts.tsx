// Building blocks of the pages.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { createContext, memo, useCallback, useContext, useEffect, useId, useRef, useState, type ReactNode } from "react";
import { Button, Dialog, Heading, Input, Label, Modal, ModalOverlay, TextField } from "react-aria-components";
import { amount, Failure, get, go, list, percent, queryOf, setQuery, useLive, usePlace, visible, visibleLines } from "./lib";
import type { Queue, Res } from "./queues";

/** Foreign text. */
export const T = ({ children }: { children: unknown }) => <span className="foreign">{visible(children)}</span>;
export const Lines = ({ children }: { children: unknown }) => <pre className="lines" tabIndex={0}>{visibleLines(children)}</pre>;

/** A link within the interface, to an address below /ui. */
export function A({ to, children, className, ...rest }: { to: string; children: ReactNode; className?: string; "aria-current"?: "page"; "aria-label"?: string }) {
  const href = `/ui${to === "/" ? "/" : to}`;
  return <a href={href} className={className} {...rest} onClick={(e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault(); go(href);
  }}>{children}</a>;
}

export interface Session { user: string; anonymous: boolean; changes: boolean; changesAt?: string }
export const SessionContext = createContext<Session | undefined>(undefined);
/** Whether the caller may try to change things from here; the server decides. */
export function useMay(): boolean { const s = useContext(SessionContext); return !!s?.changes && !s.anonymous; }

export function Page({ title, children, light, aside }: { title: ReactNode; children: ReactNode; light?: string; aside?: ReactNode }) {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => { document.title = `${head.current?.textContent ?? ""} - YARN`; });
  return <>
    <div className="head"><h1 ref={head}>{title}</h1>{aside}{light && <a className="light" href={light}>Light page</a>}</div>
    {children}
  </>;
}

export function Card({ title, children, aside, className = "", flat }: { title?: ReactNode; children: ReactNode; aside?: ReactNode; className?: string; flat?: boolean }) {
  const id = useId();
  return <section className={`card ${className}`} aria-labelledby={title ? id : undefined}>
    {title && <div className="card-head"><h2 id={id}>{title}</h2>{aside}</div>}
    <div className={flat ? "flat" : "card-body"}>{children}</div>
  </section>;
}

/** What is shown while there is no answer, or if it is a refusal. */
export function Wait({ of, children }: { of: { data?: unknown; error: Failure | null; isPending: boolean }; children?: ReactNode }) {
  if (of.error) return <><Problem error={of.error} />{of.data !== undefined && children}</>;
  if (of.data === undefined) return <p className="quiet" role="status">Loading…</p>;
  return <>{children}</>;
}
export function Problem({ error }: { error: unknown }) {
  return <p className="problem" role="alert">{visible(error instanceof Error ? error.message : error)}</p>;
}
export const Note = ({ children }: { children: ReactNode }) => <p className="quiet">{children}</p>;

const tones: Record<string, string> = {
  RUNNING: "good", FINISHED: "done", SUCCEEDED: "good", ACCEPTED: "wait", SUBMITTED: "wait", NEW: "wait", NEW_SAVING: "wait", FAILED: "bad", KILLED: "off", UNHEALTHY: "bad", LOST: "bad",
  DECOMMISSIONING: "wait", DECOMMISSIONED: "off", SHUTDOWN: "off", REBOOTED: "wait", ACTIVE: "good", STANDBY: "wait", STOPPED: "bad", DRAINING: "wait", UNDEFINED: "off", COMPLETE: "done",
};
const signs: Record<string, string> = { good: "●", wait: "◐", bad: "▲", off: "○", done: "✓" };
/** A state: a sign and a word, so that colour is never alone. */
export function State({ of }: { of: string }) {
  const tone = tones[of] ?? "off";
  return <span className={`state ${tone}`}><span aria-hidden="true">{signs[tone]}</span> {visible(of).toLowerCase().replace(/_/g, " ")}</span>;
}

const width = (part: number, whole: number) => `${Math.min(100, Math.max(0, whole > 0 ? (part * 100) / whole : 0))}%`;

/** A plain share of something. */
export function Meter({ value, of, label, second, secondLabel }: { value: number; of: number; label: string; second?: number; secondLabel?: string }) {
  const p = of > 0 ? (value * 100) / of : 0;
  return <span className="meter" role="img" aria-label={`${label}: ${percent(p)}${second === undefined ? "" : `, ${secondLabel} ${percent(second)}`}`}>
    <span className={p > 95 ? "fill full" : "fill"} style={{ width: width(value, of) }} />
    {second !== undefined && <span className="fill thin" style={{ width: width(second, 100) }} />}
  </span>;
}

/** A queue's guarantee, maximum, used, reserved and pending, on the scale of the cluster. */
export function QueueBar({ queue: q, resource, scale }: { queue: Queue; resource: keyof Res; scale: number }) {
  const used = q.used[resource], reserved = q.reserved[resource], pending = q.pending[resource], guarantee = q.guarantee[resource];
  const max = Math.min(q.max[resource], scale);
  const within = Math.min(used, guarantee), over = Math.max(0, used - guarantee);
  const say = (n: number) => amount(resource, n);
  return <span className="qbar" role="img" aria-label={`used ${say(used)} of ${say(guarantee)} guaranteed, at most ${say(max)}, pending ${say(pending)}, reserved ${say(reserved)}`}>
    <span className="room" style={{ width: width(max, scale) }} />
    <span className="g" style={{ width: width(guarantee, scale) }} />
    <span className="u" style={{ width: width(within, scale) }} />
    {over > 0 && <span className="o" style={{ left: width(within, scale), width: width(over, scale) }} />}
    {reserved > 0 && <span className="r" style={{ left: width(used, scale), width: width(reserved, scale) }} />}
    {pending > 0 && <span className="p" style={{ left: width(used + reserved, scale), width: width(Math.min(pending, Math.max(0, scale - used - reserved)), scale) }} />}
    {pending > Math.max(0, scale - used - reserved) && <span className="more" aria-hidden="true">›</span>}
  </span>;
}
export const Legend = () => <p className="legend" aria-hidden="true">
  <span><i className="u" />used</span><span><i className="o" />used above guarantee</span><span><i className="r" />reserved</span><span><i className="p" />pending</span><span><i className="g" />guarantee</span><span><i className="room" />maximum</span>
</p>;

export function Facts({ children }: { children: [ReactNode, ReactNode][] }) {
  return <dl className="facts">{children.map(([k, v], i) => <div key={i}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

/** A small table that is shown whole. */
export function Table({ label, heads, rows, empty }: { label: string; heads: ReactNode[]; rows: ReactNode[][]; empty?: ReactNode }) {
  if (rows.length === 0 && empty) return <Note>{empty}</Note>;
  return <div className="wide" role="group" aria-label={label} tabIndex={0}><table>
    <caption className="hidden">{label}</caption>
    <thead><tr>{heads.map((h, i) => <th key={i} scope="col">{h}</th>)}</tr></thead>
    <tbody>{rows.map((r, i) => <tr key={i}>{r.map((c, j) => <td key={j}>{c}</td>)}</tr>)}</tbody>
  </table></div>;
}

export interface Column<R> { key: string; title: string; sort?: string; width: string; number?: boolean; cell: (row: R) => ReactNode }
const rowsPerPage = 100, rowHeight = 30;

/** A row of a long list; it is made anew only when what it shows has changed. */
const Row = memo(function Row({ row, index, start, chosen, choose, name, columns, template }: {
  row: unknown; index: number; start: number; chosen?: boolean; choose?: (key: string, on: boolean) => void; name: string; columns: Column<any>[]; template: string;
}) {
  return <div role="row" aria-rowindex={index + 2} className={`grid-row${chosen ? " chosen" : ""}`} style={{ gridTemplateColumns: template, transform: `translateY(${start}px)`, height: rowHeight }}>
    {choose && <span role="cell">{row !== undefined && <input type="checkbox" aria-label={`Choose ${name}`} checked={!!chosen} onChange={(e) => choose(name, e.target.checked)} />}</span>}
    {columns.map((c) => <span key={c.key} role="cell" className={c.number ? "n" : ""}>{row === undefined ? "…" : c.cell(row)}</span>)}
  </div>;
});

/** A long list: the server filters, sorts and cuts it; rows that are not seen are not there. */
export function Window<R>({ label, path, root, item, columns, keyOf, filters, onCount, selected, onSelect, minWidth }: {
  label: string; path: string; root: string; item: string; columns: Column<R>[]; keyOf: (r: R) => string; filters: Record<string, string>;
  minWidth: string; onCount?: (matching: number, total: number) => void; selected?: Set<string>; onSelect?: (s: Set<string>) => void;
}) {
  const { query } = usePlace();
  const live = useLive();
  const sort = query.get("sort") ?? "", order = query.get("order") ?? "";
  const scroller = useRef<HTMLDivElement>(null);
  const [known, setKnown] = useState<{ matching: number; total: number } | undefined>();
  const rows = useVirtualizer({ count: known?.matching ?? 0, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 12 });
  const seen = rows.getVirtualItems();
  const pages = [...new Set([0, ...seen.map((v) => Math.floor(v.index / rowsPerPage))])];
  const answers = useQueries({ queries: pages.map((page) => {
    const at = path + queryOf({ ...filters, sort, order, offset: page * rowsPerPage, limit: rowsPerPage });
    return { queryKey: [at], queryFn: () => get<any>(at), refetchInterval: live ? 60_000 : 5000, retry: false, placeholderData: (before: unknown) => before, staleTime: 1000 };
  }) });
  const byPage = new Map(pages.map((p, i) => [p, answers[i]!]));
  const first = byPage.get(0)!.data as any;
  const matching = first?.[root]?.matching as number | undefined, total = first?.[root]?.total as number | undefined;
  useEffect(() => { if (matching !== undefined && total !== undefined) { setKnown({ matching, total }); onCount?.(matching, total); } }, [matching, total]);
  const error = answers.find((a) => a.error)?.error as Failure | undefined;
  const template = (onSelect ? "2rem " : "") + columns.map((c) => c.width).join(" ");
  const selection = useRef({ selected, onSelect });
  useEffect(() => { selection.current = { selected, onSelect }; });
  const choose = useCallback((key: string, on: boolean) => {
    const next = new Set(selection.current.selected);
    if (on) next.add(key); else next.delete(key);
    selection.current.onSelect?.(next);
  }, []);
  const sortBy = (c: Column<R>) => {
    if (!c.sort) return;
    const down = sort === c.sort && order !== "desc";
    setQuery({ sort: c.sort, order: down ? "desc" : "asc" });
    scroller.current?.scrollTo(0, 0);
  };
  return <>
    {error && <Problem error={error} />}
    <div className="window" ref={scroller} role="group" aria-label={`${label}, scrolls`} tabIndex={0}>
      <div role="table" aria-label={label} aria-rowcount={(known?.matching ?? 0) + 1} className="grid" style={{ minWidth }}>
        <div role="rowgroup" className="grid-head"><div role="row" aria-rowindex={1} className="grid-row" style={{ gridTemplateColumns: template }}>
          {onSelect && <span role="columnheader"><span className="hidden">Chosen</span></span>}
          {columns.map((c) => <span key={c.key} role="columnheader" className={c.number ? "n" : ""} aria-sort={c.sort && c.sort === sort ? (order === "desc" ? "descending" : "ascending") : undefined}>
            {c.sort ? <button type="button" className="sort" onClick={() => sortBy(c)}>{c.title}{c.sort === sort && <span aria-hidden="true">{order === "desc" ? " ▾" : " ▴"}</span>}</button> : c.title}
          </span>)}
        </div></div>
        <div role="rowgroup" className="grid-body" style={{ height: rows.getTotalSize() }}>
          {seen.map((v) => {
            const row = list<R>((byPage.get(Math.floor(v.index / rowsPerPage))?.data as any)?.[root]?.[item])[v.index % rowsPerPage];
            const key = row === undefined ? "" : keyOf(row);
            return <Row key={v.key} row={row} index={v.index} start={v.start} chosen={selected?.has(key)} choose={onSelect && choose} name={key} columns={columns} template={template} />;
          })}
        </div>
      </div>
      {known?.matching === 0 && <Note>Nothing matches.</Note>}
      {!known && !error && <Note>Loading…</Note>}
    </div>
  </>;
}

/** A field that filters as one types, and keeps what it has in the address. */
export function Search({ name, label, placeholder }: { name: string; label: string; placeholder?: string }) {
  const { query } = usePlace();
  const now = query.get(name) ?? "";
  const [text, setText] = useState(now);
  useEffect(() => setText(now), [now]);
  useEffect(() => { if (text === now) return; const t = window.setTimeout(() => setQuery({ [name]: text }), 250); return () => window.clearTimeout(t); }, [text]);
  return <label className="field"><span>{label}</span><input type="search" value={text} placeholder={placeholder} onChange={(e) => setText(e.target.value)} /></label>;
}
export function Choice({ name, label, options, value, onChange }: { name?: string; label: string; options: [string, string][]; value?: string; onChange?: (v: string) => void }) {
  const { query } = usePlace();
  return <label className="field"><span>{label}</span><select value={value ?? query.get(name ?? "") ?? ""} onChange={(e) => (onChange ? onChange(e.target.value) : setQuery({ [name!]: e.target.value }))}>
    {options.map(([v, t]) => <option key={v} value={v}>{t}</option>)}
  </select></label>;
}

/** A button behind which is a change: it shows what will happen, and does it once confirmed. */
export function Action({ name, title, children, confirm, run, danger, done, disabled }: {
  name: string; title: string; children: ReactNode | (() => ReactNode); confirm: string; run: () => Promise<unknown>; danger?: boolean; done?: () => void; disabled?: boolean;
}) {
  const [open, setOpen] = useState(false);
  const [state, setState] = useState<{ busy?: boolean; error?: unknown }>({});
  const client = useQueryClient();
  const act = async () => {
    if (state.busy) return; // the button stays as it is, so that it keeps the focus
    setState({ busy: true });
    try { await run(); setState({}); setOpen(false); done?.(); void client.invalidateQueries(); } catch (error) { setState({ error }); }
  };
  return <>
    <Button className={danger ? "button danger" : "button"} isDisabled={disabled} onPress={() => { setState({}); setOpen(true); }}>{name}</Button>
    <ModalOverlay className="overlay" isOpen={open} onOpenChange={setOpen} isDismissable><Modal className="modal"><Dialog className="dialog">
      <Heading slot="title">{title}</Heading>
      <form onSubmit={(e) => { e.preventDefault(); void act(); }}>
        <div className="dialog-body">{open && (typeof children === "function" ? children() : children)}{state.error !== undefined && <Problem error={state.error} />}</div>
        <div className="buttons">
          <Button className="button" onPress={() => setOpen(false)}>Cancel</Button>
          <Button className={danger ? "button danger solid" : "button solid"} type="submit">{state.busy ? "Working…" : confirm}</Button>
        </div>
      </form>
    </Dialog></Modal></ModalOverlay>
  </>;
}
export function Field({ label, value, onChange, type = "text", help, autoFocus, ...rest }: { label: string; value: string; onChange: (v: string) => void; type?: string; help?: string; autoFocus?: boolean; list?: string }) {
  return <TextField className="field column" value={value} onChange={onChange} autoFocus={autoFocus} type={type}><Label>{label}</Label><Input {...rest} />{help && <span className="quiet">{help}</span>}</TextField>;
}
