import { useState } from "react";
import { ago, count, duration, list, memory, moment, useGet } from "../lib";
import { Card, Facts, Note, Page, State, T, Table, Wait } from "../parts";

/** One bean: all of them grow with the number of queues. */
const useBean = (name: string): any => useGet<{ beans: any[] }>(`/jmx?qry=${encodeURIComponent(name)}`).data?.beans[0] ?? {};

export function Daemon() {
  const info = useGet<{ clusterInfo: any }>("info");
  const jvm = useBean("Hadoop:service=ResourceManager,name=JvmMetrics"), loop = useBean("Hadoop:service=ResourceManager,name=LoopMetrics"), runtime = useBean("java.lang:type=Runtime"), threads = useBean("java.lang:type=Threading");
  const conf = useGet<{ properties: any[] }>("/conf?format=json", { every: false });
  const [text, setText] = useState(""), [changed, setChanged] = useState(true);
  const i = info.data?.clusterInfo;
  const all = list<any>(conf.data?.properties);
  const shown = all.filter((p) => (!changed || !/-default\.xml$/.test(String(p.resource))) && (`${p.key} ${p.value}`).toLowerCase().includes(text.toLowerCase()));
  return <Page title="Daemon" light="/cluster/cluster">
    <Wait of={info}>{i && <div className="cards two">
      <Card title="This ResourceManager"><Facts>{[["State", <State of={i.haState} />], ["Started", <>{moment(i.startedOn)}, {ago(i.startedOn)}</>], ["Version", <T>{i.resourceManagerBuildVersion}</T>], ["State store", <T>{i.rmStateStoreName}</T>],
        ...(i.heddleStateStorePath ? [["Where it is", <T>{i.heddleStateStorePath}</T>] as [React.ReactNode, React.ReactNode]] : []), ["Election", <T>{i.haZooKeeperConnectionState}</T>], ["Records set aside", count(i.heddleRecordsSetAside ?? 0)]]}</Facts></Card>
      <Card title="Process"><Facts>{[["Heap", `${memory(jvm.MemHeapUsedM)} of ${memory(jvm.MemHeapCommittedM)}`], ["Collections", `${count(jvm.GcCount)}, ${duration(jvm.GcTimeMillis ?? 0)} together`], ["Goroutines", count(threads.ThreadCount ?? jvm.ThreadsRunnable)], ["Up for", duration(runtime.Uptime ?? 0)],
        ["Commands that held the loop for long", count(loop.LongHolds)], ["The longest", <>{loop.LongestHoldMillis === undefined ? "–" : `${Number(loop.LongestHoldMillis).toFixed(1)} ms`}</>], ["Publications of views", `${count(loop.Publications)}, ${duration(loop.PublishingMillis ?? 0)} together`]]}</Facts>
        <p className="links"><a href="/jmx">Metrics as beans</a> <a href="/prom">for Prometheus</a> <a href="/stacks">Goroutines</a> <a href="/conf">Configuration as XML</a></p></Card>
    </div>}</Wait>
    {list<any>(i?.heddleSetAside).length > 0 && <Card title="Records that could not be used" flat><Table label="Records set aside" heads={["Record", "Why"]} rows={list<any>(i.heddleSetAside).map((s) => [<T>{s.record}</T>, <T>{s.reason}</T>])} /></Card>}
    <Card title="Configuration in force" flat><div className="filters inset"><label className="field"><span>Filter</span><input type="search" value={text} onChange={(e) => setText(e.target.value)} /></label>
      <label className="check"><input type="checkbox" checked={changed} onChange={(e) => setChanged(e.target.checked)} />without defaults</label><span className="quiet" role="status">{count(shown.length)} of {count(all.length)}</span></div>
      <Wait of={conf}><Table label="Configuration" heads={["Property", "Value", "From"]} rows={shown.slice(0, 300).map((p) => [<code><T>{p.key}</T></code>, <span className="wrap"><T>{p.value}</T></span>, <><T>{p.resource}</T>{p.isFinal && <span className="tag">final</span>}</>])} />{shown.length > 300 && <Note>The first 300 are shown: filter for others.</Note>}</Wait></Card>
  </Page>;
}
