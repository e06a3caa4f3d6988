#!/usr/bin/env python3
"""Tells what recorded traces exercise: stats.py DIR...   One line for each folder of traces (`unpack` makes them)."""
import collections, gzip, json, pathlib, sys


def lines(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as f:
        for line in f:
            if line.strip():
                yield json.loads(line)


def count(path, c):
    c["traces"] += 1
    for e in lines(path):
        if "plan" in e:
            return  # other events, which run counts
        if "trace" in e:
            continue
        saw, do = e["saw"], e["do"]
        c["events"] += 1
        c[do] += 1
        c["allocated"] += len(saw.get("allocated", []))
        if do == "beat":
            c["beats that allocate"] += bool(saw["allocated"])
            c["beats with a reservation"] += saw["reserved"] is not None
        if do == "submit":
            c["submissions refused"] += saw["state"] not in ("ACCEPTED", "RUNNING")
        if saw.get("ok") is False:
            c[do + " not ok"] += 1
        c["ask errors"] += "error" in saw
        c["containers updated"] += len(saw.get("updated", []))
        c["update errors"] += len(saw.get("update-errors", []))
        c["marked"] += len(saw.get("marked", []))
        c["killed by preemption"] += len(saw.get("killed", []))
        for q in saw.get("queues", {}).values():
            c["queue snapshots with pending apps"] += q.get("apps-pending", 0) > 0
            c["snapshots of dynamic queues"] += q.get("dynamic", False)


SHOWN = ["submit", "submissions refused", "ask", "ask errors", "am-finish", "beats with a reservation",
         "refresh-queues", "refresh-queues not ok", "app-move", "app-move not ok", "app-priority",
         "node-remove", "node-resource", "containers updated", "update errors", "preempt-round", "marked",
         "killed by preemption", "queue snapshots with pending apps", "snapshots of dynamic queues"]


def main():
    for d in sys.argv[1:]:
        files = sorted(p for p in pathlib.Path(d).iterdir() if ".jsonl" in p.name)
        c = collections.Counter()
        for f in files:
            count(f, c)
        if not files:
            continue
        print(f"{pathlib.Path(d).name}: {c['traces']} traces, {c['events'] / c['traces']:.0f} events each, "
              f"{c['allocated'] / c['traces']:.0f} allocations each, "
              f"{100 * c['beats that allocate'] / max(1, c['beat']):.0f}% of {c['beat']} beats allocate; "
              + ", ".join(f"{k} {c[k]}" for k in SHOWN if c[k]))


main()
