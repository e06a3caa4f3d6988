// A line over time. uPlot draws on a canvas, so the numbers are in the text beside it.
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export function Chart({ times, series, label, format }: { times: number[]; series: { name: string; color: string; values: number[] }[]; label: string; format: (n: number) => string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = [times, ...series.map((s) => s.values)] as uPlot.AlignedData;
  useEffect(() => {
    const at = box.current!;
    const make = () => {
      plot.current?.destroy();
      const css = getComputedStyle(at), ink = css.getPropertyValue("--quiet").trim(), line = css.getPropertyValue("--line").trim();
      const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false } };
      plot.current = new uPlot({
        width: at.clientWidth || 300, height: 150, legend: { show: false }, cursor: { show: false }, padding: [8, 8, 0, 0],
        scales: { x: { time: true, range: (_, min, max) => [Math.min(min, max - 60), max] }, y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] } },
        axes: [{ ...axis, size: 26, values: (_, all) => all.map((t) => new Date(t * 1000).toTimeString().slice(0, 8)), space: 90 }, { ...axis, size: 64, incrs: Array.from({ length: 50 }, (_, i) => 2 ** i), values: (_, all) => all.map(format) }],
        series: [{}, ...series.map((s) => ({ stroke: css.getPropertyValue(s.color).trim(), width: 1.5, points: { show: (u: uPlot) => u.data[0].length < 3 } }))],
      }, data, at);
    };
    make();
    const size = new ResizeObserver(() => plot.current?.setSize({ width: at.clientWidth || 300, height: 150 }));
    size.observe(at);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => { size.disconnect(); dark.removeEventListener("change", make); plot.current?.destroy(); plot.current = undefined; };
  }, [series.length]);
  useEffect(() => { plot.current?.setData(data); });
  return <figure className="chart">
    <div ref={box} role="img" aria-label={label} />
    <figcaption>{series.map((s) => <span key={s.name}><i style={{ background: `var(${s.color})` }} />{s.name} {format(s.values.at(-1) ?? 0)}</span>)}</figcaption>
  </figure>;
}
