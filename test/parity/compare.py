#!/usr/bin/env python3
"""Compares recorded decisions with a replayer's, event by event.

    compare.py TRACE REPLAY            one trace and the lines a replayer printed for it
    compare.py TRACE_DIR REPLAY_DIR    every *.jsonl or *.jsonl.gz of the first folder, searched
                                       recursively, with the file of the same relative name;
                                       also those in its *.tar.gz, by the name in the archive
    compare.py ARCHIVE REPLAY_DIR      those in one .tar.gz
    --ignore FIELD   leave out a field of "saw" wherever it occurs, or a path from "saw" such as
                     queues.*.users; may be given more than once.
                     Of a plan "message" is never compared
    --context N      events of the trace to show before a difference (default 3)
    --keep-going     show the first difference of every trace, not only the first three

Exits 1 when anything differs, 2 when it cannot compare.
"""
import argparse, gzip, io, json, math, pathlib, sys, tarfile

TOLERANCE = 1e-5


def read(path):
    """The lines of a file, or of bytes out of an archive."""
    if isinstance(path, bytes):
        return [json.loads(line) for line in io.BytesIO(path) if line.strip()]
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as f:
        return [json.loads(line) for line in f if line.strip()]


def unpacked(archive):
    """Yields (name, content) of each trace in a .tar.gz."""
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(".jsonl"):
                yield member.name, tar.extractfile(member).read()


def ignored(path, rules):
    for rule in rules:
        if len(rule) == 1 and path and path[-1] == rule[0]:
            return True
        if len(rule) == len(path) and all(r in ("*", p) for r, p in zip(rule, path)):
            return True
    return False


def differences(want, got, path, rules):
    """Yields (path, want, got) for each place where two values differ."""
    if ignored(path, rules):
        return
    if isinstance(want, dict) and isinstance(got, dict):
        for k in list(want) + [k for k in got if k not in want]:
            if k not in want or k not in got:
                if not ignored(path + [k], rules):
                    yield path + [k], want.get(k, "(absent)"), got.get(k, "(absent)")
            else:
                yield from differences(want[k], got[k], path + [k], rules)
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (a, b) in enumerate(zip(want, got)):
            yield from differences(a, b, path + [str(i)], rules)
    elif is_number(want) and is_number(got):
        if not math.isclose(want, got, rel_tol=0, abs_tol=TOLERANCE):
            yield path, want, got
    elif want != got or type(want) is not type(got):
        yield path, want, got


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def compare(trace, replay, rules):
    """Returns the number of events, of equal events, and the first difference or None."""
    lines = read(trace)
    events = [e for e in lines if "trace" not in e and "plan" not in e]
    if any("plan" in line for line in lines[:1]):
        rules = rules + [["message"]]  # the words of an error are Apache's own
    answers = {a["n"]: a.get("saw") for a in read(replay) if "n" in a} if replay.exists() else {}
    equal, first = 0, None
    for e in events:
        if e["n"] in answers:
            found = next(differences(e["saw"], answers[e["n"]], [], rules), None)
        else:
            found = ([], e["saw"], "(no answer)")
        if found is None:
            equal += 1
        elif first is None:
            first = (e, found)
    return events, equal, first


def show(name, events, first, context):
    event, (path, want, got) = first
    print(f"{name}: event {event['n']} ({event['do']}) differs at {'.'.join(path) or 'saw'}")
    i = events.index(event)
    for e in events[max(0, i - context):i + 1]:
        print("   ", shorten({k: v for k, v in e.items() if k != "saw"}))
    print("    Apache:", shorten(want))
    print("    replay:", shorten(got))


def shorten(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else text[:400] + "…"


def pairs(trace, replay):
    """(name, trace, file of the replay) of everything there is to compare."""
    if trace.is_file() and not trace.name.endswith(".tar.gz"):
        return [(trace.name, trace, replay)]
    archives = [trace] if trace.is_file() else sorted(trace.rglob("*.tar.gz"))
    found = [] if trace.is_file() else [(str(p.relative_to(trace)), p) for p in trace.rglob("*") if p.name.endswith((".jsonl", ".jsonl.gz"))]
    for a in archives:
        found += unpacked(a)
    out = []
    for name, p in sorted(found, key=lambda f: f[0]):
        candidates = [replay / name, replay / name.removesuffix(".gz"), replay / (name + ".gz")]
        out.append((name, p, next((c for c in candidates if c.exists()), candidates[0])))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("replay", type=pathlib.Path)
    parser.add_argument("--ignore", action="append", default=[], metavar="FIELD")
    parser.add_argument("--context", type=int, default=3)
    parser.add_argument("--keep-going", action="store_true")
    args = parser.parse_args()
    rules = [r.split(".") for r in args.ignore]
    todo = pairs(args.trace, args.replay)
    if not todo:
        print(f"no traces in {args.trace}", file=sys.stderr)
        return 2
    traces = events = equal_traces = equal_events = 0
    for name, trace, replay in todo:
        seen, equal, first = compare(trace, replay, rules)
        traces += 1
        events += len(seen)
        equal_events += equal
        equal_traces += first is None
        if first and (args.keep_going or traces - equal_traces <= 3):
            show(name, seen, first, args.context)
    print(f"{equal_traces} of {traces} traces equal, {equal_events} of {events} events equal")
    return 0 if equal_traces == traces else 1


if __name__ == "__main__":
    sys.exit(main())
