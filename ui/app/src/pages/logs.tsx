import { useEffect, useRef, useState } from "react";
import { count, list, part, useGet, visible, visibleLines } from "../lib";
import { Card, Note, Problem, Wait } from "../parts";

/** The end of a container's log files, asked for again while it runs. */
export function Logs({ attempts, containers, running }: { attempts: any[]; containers: any[]; running: boolean }) {
  const masters = attempts.map((t) => t.containerId ?? t.amContainerId).filter(Boolean).map(String);
  const ids = [...new Set([...masters.slice().reverse(), ...containers.slice(0, 500).map((c) => String(c.containerId))])];
  const [chosen, setChosen] = useState(""), [name, setName] = useState("");
  const id = ids.includes(chosen) ? chosen : ids[0];
  const files = useGet<{ containerLogs: any }>(id ? `containers/${part(id)}/logs` : null, { every: running ? 10_000 : false });
  const known = list<any>(files.data?.containerLogs.file).map((f) => ({ name: String(f.name), bytes: Number(f.bytes) }));
  const usual = ["syslog", "stdout", "stderr"].map((n) => known.find((f) => f.name === n && f.bytes > 0)).find(Boolean) ?? known.find((f) => f.bytes > 0) ?? known[0];
  const file = known.some((f) => f.name === name) ? name : usual?.name;
  const [follow, setFollow] = useState(true);
  const log = useGet<{ containerLog: any }>(id && file && !files.error ? `containers/${part(id)}/logs/${part(file)}?bytes=32768` : null, { every: running && follow ? 3000 : false });
  const box = useRef<HTMLPreElement>(null);
  const text = log.data?.containerLog.containerId === id && log.data?.containerLog.file === file ? String(log.data?.containerLog.text ?? "") : "";
  useEffect(() => { if (follow && box.current) box.current.scrollTop = box.current.scrollHeight; }, [text, follow]);
  if (!id) return null;
  const length = Number(log.data?.containerLog.length ?? 0);
  return <Card title="Logs" aside={<span className="quiet">the end of each</span>}>
    <div className="filters">
      <label className="field"><span>Container</span><select value={id} onChange={(e) => setChosen(e.target.value)}>{ids.map((x) => <option key={x} value={x}>{visible(x)}{masters.includes(x) ? ", a master" : ""}</option>)}</select></label>
      {known.length > 0 && <label className="field"><span>File</span><select value={file} onChange={(e) => setName(e.target.value)}>{known.map((f) => <option key={f.name} value={f.name}>{visible(f.name)}, {count(f.bytes)} bytes</option>)}</select></label>}
      {running && <label className="check"><input type="checkbox" checked={follow} onChange={(e) => setFollow(e.target.checked)} />Follow</label>}
    </div>
    <Wait of={files}>{known.length === 0 ? <Note>It has written no log file yet.</Note> : <>
      {log.error && <Problem error={log.error} />}
      {length > text.length && text !== "" && <Note>The last part of {count(length)} bytes.</Note>}
      <pre className="lines log" ref={box} tabIndex={0} aria-label={`End of ${visible(file)}`}>{text === "" ? "(empty)" : visibleLines(text)}</pre>
    </>}</Wait>
  </Card>;
}
