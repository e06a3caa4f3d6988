#!/usr/bin/env python3
# record.py [--seeds A-B]... [--hand] [--own] [--stock] [-o FILE]: answers of the stock `yarn fs2cs` to the cases of cases.py, one JSON
# object a line. Each case is answered twice, in two JVMs and in two orders; one whose answers differ is left out and named.
# --stock answers by the kit's command line, one JVM a case (slow), instead of the driver.
import sys; sys.dont_write_bytecode = True
import json, os, re, shutil, subprocess, tempfile, xml.etree.ElementTree as ET
HERE = os.path.dirname(os.path.abspath(__file__)); sys.path.insert(0, HERE)
KIT = os.environ.get("HEDDLE_COMPAT_KIT") or os.path.join(HERE, "..")
CACHE = os.environ.get("HEDDLE_COMPAT_CACHE") or os.path.expanduser("~/.cache/heddle-compat")
JSONKEY = "yarn.scheduler.capacity.mapping-rule-json"
LOG4J = """log4j.rootLogger=${hadoop.root.logger}
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
"""

def lay(case, dir):
    """writes the inputs of a case below dir (made anew) and gives the arguments"""
    shutil.rmtree(dir, ignore_errors=True); os.makedirs(dir + "/conf"); dir = os.path.realpath(dir)
    for n, t in case["files"].items():
        p = os.path.join(dir, n)
        if n.endswith("/"): os.makedirs(p, exist_ok=True); continue
        os.makedirs(os.path.dirname(p), exist_ok=True)
        with open(p, "w", encoding="utf-8") as f: f.write(t.replace("{dir}", dir))
    if not os.path.exists(dir + "/conf/log4j.properties"):
        with open(dir + "/conf/log4j.properties", "w") as f: f.write(LOG4J)
    return [a.replace("{dir}", dir) for a in case["args"]]

def squeeze(key, v):
    """values that Apache writes in the order of a hash table: sorted"""
    if key.endswith(".queues"): return ",".join(sorted(v.split(",")))
    if ".acl_" in key and v != "*":
        u, sp, g = v.partition(" "); return ",".join(sorted(u.split(","))) + sp + ",".join(sorted(g.split(",")))
    return v

def props(text):
    if text is None or not text.strip(): return None
    try: root = ET.fromstring(text.strip().encode("utf-8"))
    except ET.ParseError: return {"unparsable": "true"}
    out = {}
    for p in root.iter("property"):
        k = p.findtext("name") or ""; out[k.strip()] = squeeze(k.strip(), p.findtext("value") or "")
    return out

def parsed(text):
    if text is None or not text.strip(): return None
    try: return json.loads(text)
    except ValueError: return {"unparsable": True}

def outcome(dir, exit, stdout):
    """what is compared exactly: {exit, site, capacity, rules, rules_in}"""
    def slurp(n):
        try:
            with open(os.path.join(dir, n), encoding="utf-8", newline="") as f: return f.read()
        except (OSError, UnicodeDecodeError): return None
    r = {"exit": exit, "rules": None, "rules_in": None}; con = {}; stdout = stdout.replace("\r\n", "\n")
    parts = re.split(r"=+ (capacity-scheduler\.xml|yarn-site\.xml|mapping-rules\.json) =+\n", stdout)
    for n, t in zip(parts[1::2], parts[2::2]):
        end = t.rfind("</configuration>") if n.endswith("xml") else t.rfind("}")     # log lines may follow
        con[n] = t[:end + (16 if n.endswith("xml") else 1)] if end >= 0 else t
    outs = [a for a in ("out", "out2") if os.path.exists("%s/%s/capacity-scheduler.xml" % (dir, a)) or os.path.exists("%s/%s/yarn-site.xml" % (dir, a)) or os.path.exists("%s/%s/mapping-rules.json" % (dir, a))]
    o = outs[0] if outs else "out"; r["into"] = o if outs else None
    r["console"] = sorted(con)
    r["site"] = props(con.get("yarn-site.xml", slurp(o + "/yarn-site.xml"))); r["capacity"] = props(con.get("capacity-scheduler.xml", slurp(o + "/capacity-scheduler.xml")))
    if r["capacity"] and JSONKEY in r["capacity"]: r["rules"], r["rules_in"] = parsed(r["capacity"].pop(JSONKEY)), "property"
    for where, t in (("console", con.get("mapping-rules.json")), ("file", slurp(o + "/mapping-rules.json"))):
        if parsed(t) is not None and r["rules"] is None: r["rules"], r["rules_in"] = parsed(t), where
    if not r["site"] and not r["capacity"] and r["rules"] is None: r["into"] = None      # empty files are as good as none
    return r

def mask(t, dir):
    t = t.replace(os.path.realpath(dir), "{dir}").replace(dir, "{dir}")
    t = t.split("\n\tat ", 1)[0]
    return re.sub(r"@[0-9a-f]{5,8}\b", "@<hash>", t)

def words(log, err, out, dir, console):
    """texts, to be compared loosely: {warnings, errors, dry_run, stdout}"""
    w, e, d = [], [], []
    for level, logger, text in log:
        text = mask(text, dir)
        if logger.endswith("DryRunResultHolder"): d += [text] if text.strip() else []
        elif level == "WARN" and (".scheduler." in logger or ".placement." in logger): w.append(text)
        elif level in ("ERROR", "FATAL") and text != "java.lang.InterruptedException": e.append(text)     # a thread of the verification, ended
    e += [x for x in (mask(y, dir) for y in err.splitlines()) if x.strip() and x not in e]
    w, e = list(dict.fromkeys(w)), list(dict.fromkeys(e))
    return {"warnings": w, "errors": e, "dry_run": sorted(d), "stdout": "" if console else mask(out, dir)}

def classes(work):
    d = work + "/classes"; os.makedirs(d, exist_ok=True)
    subprocess.run(["nice", "javac", "-J-Xmx256m", "-proc:none", "-nowarn", "-cp", CACHE + "/lib/*", "-d", d, KIT + "/java/Fs2csDriver.java"], check=True)
    return d

def by_driver(cases, work, cls, tag):
    """answers by name; a case with a relative path or resource types has a JVM of its own, which starts in its folder"""
    done, groups = {}, [[]]
    for c in cases:
        own = "conf/resource-types.xml" in c["files"] or any(a for a in c["args"] if "." in a and "{dir}" not in a and not a[0].isdigit() and "%" not in a and "=" not in a and "," not in a)
        groups[0].append(c) if not own else groups.append([c])
    for g in groups:
        if not g: continue
        lines = []
        for c in g:
            d = "%s/%s/%s" % (work, tag, c["name"]); args = lay(c, d); lines.append(json.dumps({"id": c["name"], "args": args, "conf": d + "/conf"}))
        r = subprocess.run(["nice", "java", "-Xmx768m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-Djava.net.preferIPv4Stack=true",
            "-cp", cls + ":" + CACHE + "/lib/*", "Fs2csDriver"], input="\n".join(lines) + "\n", capture_output=True, text=True, cwd="%s/%s/%s" % (work, tag, g[0]["name"]), encoding="utf-8")
        if r.returncode: sys.exit("driver: %d %s" % (r.returncode, r.stderr[-3000:]))
        for l in r.stdout.splitlines():
            a = json.loads(l); d = "%s/%s/%s" % (work, tag, a["id"]); o = outcome(d, a["exit"], a["out"])
            done[a["id"]] = dict(o, texts=words(a["log"], a["err"], a["out"], d, o["console"])); shutil.rmtree(d)
    return done

def by_command(case, command, dir):
    """one answer of a command line; {conf} in it is the configuration directory"""
    args = lay(case, dir); conf = dir + "/conf"; env = dict(os.environ, HEDDLE_COMPAT_LOG="INFO", HADOOP_CONF_DIR=conf, YARN_CONF_DIR=conf)
    try: r = subprocess.run(["nice"] + [a.replace("{conf}", conf) for a in command] + ["fs2cs"] + args, capture_output=True, cwd=dir, env=env, stdin=subprocess.DEVNULL, timeout=120)
    except subprocess.TimeoutExpired: return {"exit": "none: out of time", "said": ""}
    so, se = r.stdout.decode("utf-8", "replace"), r.stderr.decode("utf-8", "replace")
    log = [(m.group(1), m.group(2), m.group(3)) for m in re.finditer(r"^\d{4}-\d\d-\d\d [\d:,]+ ([A-Z]+) (\S+): (.*)$", se, re.M)]
    o = outcome(dir, r.returncode, so)
    return dict(o, texts=words(log, "", so, dir, o["console"]), said=so.replace(os.path.realpath(dir), "{dir}") + "\n" + se.replace(os.path.realpath(dir), "{dir}"))

STOCK = [os.path.join(KIT, "hadoop"), "{conf}"]

def main():
    import cases as C
    a = sys.argv[1:]; out = None; todo = []; stock = False
    while a:
        x = a.pop(0)
        if x == "--hand": todo += C.hand()
        elif x == "--own": todo += C.own()
        elif x == "--seeds": lo, _, hi = a.pop(0).partition("-"); todo += [C.seeded(s) for s in range(int(lo), int(hi or lo) + 1)]
        elif x == "--stock": stock = True
        elif x == "-o": out = a.pop(0)
        else: sys.exit("unknown: " + x)
    work = tempfile.mkdtemp(prefix="heddle-fs2cs.")
    try:
        if stock: first = second = {c["name"]: {k: v for k, v in by_command(c, STOCK, "%s/%s" % (work, c["name"])).items() if k != "said"} for c in todo}
        else:
            cls = classes(work); first = by_driver(todo, work, cls, "one"); second = by_driver(todo[::-1], work, cls, "two")
    finally: shutil.rmtree(work, ignore_errors=True)
    f = open(out, "wb") if out else sys.stdout.buffer; n = 0
    for c in todo:
        x, y = first[c["name"]], second[c["name"]]
        if x != y: print("left out, not the same twice: " + c["name"], file=sys.stderr); continue
        n += 1; f.write((json.dumps(dict(c, answer=x), sort_keys=True, ensure_ascii=False) + "\n").encode())
    if out: f.close()
    print("%d cases" % n, file=sys.stderr)

if __name__ == "__main__": main()
