#!/usr/bin/env python3
"""Records what a ResourceManager answers to changes of its queues: record.py WORKDIR OUTDIR [SET...]

Each set is a store (memory, leveldb, fs, zk), or file, fair, acl, policy: see steps.py. OUTDIR/schedconf/SET.jsonl has the settings in its first
line, then one step a line: what was asked, what came, and the version and configuration after it. A configuration is given as its difference
from the one before. With HEDDLE_COMPAT_RM naming Heddle's binary, Heddle is asked.
"""
import http.client, json, os, re, shutil, subprocess, sys, time

import steps

KIT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASE = "/ws/v1/cluster/scheduler-conf"
NAMES = {"memory": "memory", "leveldb": "leveldb", "fs": "fs", "zk": "zk"}


class Run:
    def __init__(self, work, name, settings, queues):
        self.dir, self.name, self.rows = os.path.join(work, name), name, []
        shutil.rmtree(self.dir, ignore_errors=True)
        args = []
        for k, v in settings.items():
            args += ["--conf", "%s=%s" % (k, v.replace("@DIR@", self.dir))]
        for k, v in queues.items():
            args += ["--cs", "%s=%s" % (k, v)]
        if name == "fair":
            args += ["--scheduler", "fair"]
        self.kit("apache", "conf", self.dir, "--nodes", "0", *args)
        self.queue_file(queues)
        self.ep = dict(l.strip().split("=", 1) for l in open(self.dir + "/endpoints"))
        self.before = {}

    def kit(self, script, *args):
        subprocess.run([os.path.join(KIT, script), *args], check=True, stdout=subprocess.DEVNULL)

    def queue_file(self, queues):
        """capacity-scheduler.xml with these properties and no others."""
        with open(self.dir + "/conf/capacity-scheduler.xml", "w") as f:
            f.write("<configuration>\n")
            for k, v in queues.items():
                f.write("<property><name>%s</name><value>%s</value></property>\n" % (k, v))
            f.write("</configuration>\n")

    def start(self):
        self.kit("apache", "rm", self.dir)
        for _ in range(600):
            try:
                if self.http("GET", "/ws/v1/cluster/info", {"Accept": "application/json"})[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit("no ResourceManager")

    def stop(self):
        self.kit("apache", "stop", self.dir, "rm")

    def http(self, method, path, headers, body=None):
        c = http.client.HTTPConnection(self.ep["rm.webapp.address"], timeout=60)
        c.putrequest(method, path)
        if body is not None:
            c.putheader("Content-Length", str(len(body.encode())))
        for k, v in headers.items():
            c.putheader(k, v)
        c.endheaders(body.encode() if body is not None else None)
        r = c.getresponse()
        return r.status, r.getheader("Content-Type") or "", r.read().decode("utf-8", "replace")

    def state(self):
        """Version and configuration, None where they are refused."""
        s, _, body = self.http("GET", BASE + "/version?user.name=yarn", {"Accept": "application/json"})
        version = json.loads(body)["configversion"]["versionID"] if s == 200 else None
        s, _, body = self.http("GET", BASE + "?user.name=yarn", {"Accept": "application/json"})
        conf = {p["name"]: p.get("value") for p in json.loads(body).get("property", [])} if s == 200 else {}
        return version, conf

    def queues(self):
        """Paths of all queues with state, capacity, maximum and order."""
        s, _, body = self.http("GET", "/ws/v1/cluster/scheduler?user.name=yarn", {"Accept": "application/json"})
        out = {}

        def walk(q):
            if "queuePath" in q:
                out[q["queuePath"]] = "%s %.3f %.3f %s" % (q.get("state", ""), q.get("capacity", -1), q.get("maxCapacity", -1), q.get("orderingPolicyInfo", ""))
            for child in (q.get("queues") or {}).get("queue", []):
                walk(child)
        if s == 200:
            walk(json.loads(body)["scheduler"]["schedulerInfo"])
        return out

    def step(self, s):
        row = dict(s)
        if s["do"] == "http":
            headers = {"Accept": s.get("accept", "application/json")}
            if "type" in s:
                headers["Content-Type"] = s["type"]
            user = s.get("user", "yarn")
            path = BASE + s.get("path", "")
            status, kind, body = self.http(s.get("method", "GET"), path + "?user.name=" + user, headers, s.get("body"))
            row["status"], row["answerType"], row["answer"] = status, kind, body
        elif s["do"] == "cli":
            p = subprocess.run([os.path.join(KIT, "hadoop"), self.dir + "/conf", *s["args"]], env=dict(os.environ, HADOOP_USER_NAME="yarn", LANG="C.UTF-8"),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            row["status"], row["out"], row["err"] = p.returncode, p.stdout.decode(), p.stderr.decode()
        elif s["do"] == "file":
            self.queue_file(s["file"])
        elif s["do"] == "restart":
            self.stop()
            self.start()
        version, conf = self.state()
        row["version"] = version
        row["set"] = {k: v for k, v in sorted(conf.items()) if self.before.get(k) != v}
        row["unset"] = sorted(k for k in self.before if k not in conf)
        row["queues"] = self.queues()
        self.before = conf
        self.rows.append(row)

    def run(self, todo):
        self.start()
        try:
            self.step({"do": "start"})
            for s in todo:
                self.step(s)
        finally:
            self.stop()


def main():
    work, out = os.path.abspath(sys.argv[1]), os.path.join(os.path.abspath(sys.argv[2]), "schedconf")
    os.makedirs(out, exist_ok=True)
    for name in sys.argv[3:] or steps.SETS:
        settings, queues, todo = steps.of(name)
        run = Run(work, name, settings, queues)
        run.run(todo)
        with open(os.path.join(out, name + ".jsonl"), "w") as f:
            f.write(json.dumps({"settings": settings, "queues": queues}) + "\n")
            for row in run.rows:
                text = json.dumps(row, sort_keys=True).replace(run.dir, "@DIR@")
                for k, v in run.ep.items():
                    text = text.replace(v, "@%s@" % k)
                f.write(text + "\n")
        print(name, len(run.rows), "steps")
    index(out)


def index(out):
    """One row a step: set, name, request, file, status."""
    with open(os.path.join(out, "index.tsv"), "w") as f:
        for name in sorted(n for n in os.listdir(out) if n.endswith(".jsonl")):
            with open(os.path.join(out, name)) as lines:
                for i, line in enumerate(lines):
                    s = json.loads(line)
                    what = " ".join(s.get("args", [])) or "%s %s" % (s.get("method", s.get("do", "")), s.get("path", ""))
                    f.write("schedconf\t%s-%d\t%s\tschedconf/%s\t%s\n" % (name[:-6], i, what, name, s.get("status", "")))


main()
