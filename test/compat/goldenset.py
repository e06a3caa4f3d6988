"""One set of goldens while it is recorded: a running cluster, and the requests and commands kept from it."""
import fnmatch, http.client, json, os, re, subprocess, sys, threading, time

KIT = os.path.dirname(os.path.abspath(__file__))
WORK, OUT = None, None  # set by record-goldens
CALLS_ONLY = False      # leave out the stock commands that call no daemon
LOCAL = re.compile(r"(?!top$)[a-z]+$|.*-(help|help-one|help-bogus|bogus|badid|badstate|noarg)$")  # their names
HTTP_ONLY = False       # leave out the command line: a Java start for each of some four hundred commands
EXT = {"application/json": "json", "application/xml": "xml", "text/html": "html", "text/plain": "txt"}
CACHE = os.environ.get("HEDDLE_COMPAT_CACHE", os.path.expanduser("~/.cache/heddle-compat"))
LIB = CACHE + "/lib"


def command(conf, args):
    """A stock command, or Heddle's own of the same name if HEDDLE_COMPAT_CLI names its binary."""
    own = os.environ.get("HEDDLE_COMPAT_CLI")
    if own and args[0] in ("application", "app", "applicationattempt", "container", "node", "queue", "cluster", "logs", "rmadmin", "fs2cs", "schedulerconf"):
        return [own, "--config", conf, *args]
    return [KIT + "/hadoop", conf, *args]


def without_unbuilt(args):
    """Options for Heddle: those that unbuilt.tsv lists are left out, as it would refuse to start with them."""
    if not os.environ.get("HEDDLE_COMPAT_RM"):
        return list(args)
    with open(KIT + "/unbuilt.tsv") as f:
        unbuilt = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")][1:]
    out = []
    for option, value in zip(args[::2], args[1::2]):
        why = next((u for u in unbuilt if fnmatch.fnmatchcase(value, u[0])), None)
        if why:
            print("left out: %s: %s" % (value, why[1]))
        else:
            out += [option, value]
    return out


class Set:
    def __init__(self, name, *start):
        self.name, self.dir, self.out = name, os.path.join(WORK, name), os.path.join(OUT, name)
        os.makedirs(self.out + "/http", exist_ok=True)
        os.makedirs(self.out + "/cli", exist_ok=True)
        self.rows, self.lock, self.bg = [], threading.Lock(), []
        try:
            subprocess.run([KIT + "/apache", "start", self.dir, *without_unbuilt(start)], check=True, stdout=subprocess.DEVNULL)
        except subprocess.CalledProcessError:
            subprocess.run([KIT + "/apache", "stop", self.dir], check=False)  # the nodes may be there already
            raise
        self.ep = dict(l.strip().split("=", 1) for l in open(self.dir + "/endpoints"))
        self.conf = self.dir + "/conf"
        # the native-code warning says nothing about the product
        with open(self.conf + "/log4j.properties", "a") as f:
            f.write("log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR\n")
        self.rm = self.ep["rm.webapp.address"]

    def close(self):
        for p in self.bg:
            p.kill()
            p.wait()
        subprocess.run([KIT + "/apache", "stop", self.dir], check=False)
        with open(self.out + "/index.tsv", "w") as f:
            for r in self.rows:
                f.write("\t".join(r) + "\n")

    def http(self, name, path, method="GET", accept="application/json", body=None, ctype=None, at=None,
             keep=True, headers=()):
        """One request; stores NAME.head (request, status line, headers) and NAME.<ext> (body as sent)."""
        host = at or self.rm
        c = http.client.HTTPConnection(host, timeout=60)
        h = {"Connection": "close"}
        if accept:
            h["Accept"] = accept
        if ctype:
            h["Content-Type"] = ctype
        h.update(dict(headers))
        c.request(method, path, body=body, headers=h)
        r = c.getresponse()
        data = r.read()
        ext = EXT.get((r.getheader("Content-Type") or "").split(";")[0].strip(), "txt")
        base = "http/" + name
        with open("%s/%s.head" % (self.out, base), "w") as f:
            f.write("%s %s HTTP/1.1\nHost: %s\n" % (method, path, host))
            f.writelines("%s: %s\n" % kv for kv in h.items())
            f.write("\n")
            if body is not None:
                f.write(body.rstrip("\n") + "\n\n")
            f.write("HTTP/1.1 %d %s\n" % (r.status, r.reason))
            f.writelines("%s: %s\n" % kv for kv in r.getheaders())
        stored = base + ".head"
        if keep and data:
            stored = "%s.%s" % (base, ext)
            with open("%s/%s" % (self.out, stored), "wb") as f:
                f.write(data)
        req = "%s http://%s%s" % (method, host, path) + (" accept=" + accept if accept else "")
        self.rows.append((self.name, name, req, self.name + "/" + stored, str(r.status)))
        return r.status, data

    def both(self, name, path, **kw):
        s = self.http(name, path, **kw)
        self.http(name + ".xml", path, accept="application/xml", **kw)
        return s

    def get(self, path):
        c = http.client.HTTPConnection(self.rm, timeout=60)
        c.request("GET", path, headers={"Accept": "application/json"})
        return json.loads(c.getresponse().read())

    def cli(self, name, *args, user=None, stdin=None, timeout=180, always=False):
        """One stock command; stores NAME.out, and NAME.err where there is any."""
        if not always and (HTTP_ONLY or CALLS_ONLY and LOCAL.match(name)):
            return
        env = dict(os.environ, LANG="C.UTF-8")
        if user:
            env["HADOOP_USER_NAME"] = user
        try:
            p = subprocess.run(command(self.conf, args), env=env, input=stdin or b"",
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
            rc, out, err = p.returncode, p.stdout, p.stderr
        except subprocess.TimeoutExpired as e:
            rc, out, err = "timeout", e.stdout or b"", e.stderr or b""
        with open("%s/cli/%s.out" % (self.out, name), "wb") as f:
            f.write(out)
        if err:
            with open("%s/cli/%s.err" % (self.out, name), "wb") as f:
                f.write(err)
        cmd = "yarn " + " ".join("'%s'" % a if re.search(r"[\s*;]", a) or not a else a for a in args)
        with self.lock:
            self.rows.append((self.name, name, ("user=%s " % user if user else "") + cmd.replace("\n", " "),
                              "%s/cli/%s.out" % (self.name, name), str(rc)))

    def clis(self, jobs):
        """Independent read-only commands, two at a time."""
        it, lock = iter(jobs), threading.Lock()

        def work():
            while True:
                with lock:
                    j = next(it, None)
                if j is None:
                    return
                self.cli(*j)
        ts = [threading.Thread(target=work) for _ in range(2)]
        [t.start() for t in ts]
        [t.join() for t in ts]

    # ---- applications
    def dshell(self, user, queue, command, *extra, n=2, wait=True, appname="DistributedShell"):
        """DistributedShell; returns the application's id."""
        log = "%s/dshell-%d.log" % (self.dir, time.time_ns())
        cmd = [KIT + "/hadoop", self.conf, "org.apache.hadoop.yarn.applications.distributedshell.Client",
               "-jar", [LIB + "/" + j for j in os.listdir(LIB) if "distributedshell" in j][0],
               "-appname", appname, "-queue", queue, "-num_containers", str(n), "-container_memory", "256",
               "-master_memory", "512", "-shell_command", command, *extra]
        env = dict(os.environ, HADOOP_USER_NAME=user, HEDDLE_COMPAT_LOG="INFO",
                   HEDDLE_COMPAT_OPTS="-Duser.home=%s/home" % self.dir)
        p = subprocess.Popen(cmd, env=env, stdout=open(log, "w"), stderr=subprocess.STDOUT)
        self.bg.append(p)
        app = None
        for _ in range(1200):
            if p.poll() not in (None, 0):
                raise SystemExit("DistributedShell failed, see " + log)
            m = re.search(r"Submitted application (application_\S+)", open(log).read())
            if m:
                app = m.group(1)
                break
            time.sleep(0.1)
        if wait:
            p.wait()
        return app

    def await_app(self, app, states, containers=0, secs=180):
        for _ in range(secs * 4):
            a = self.get("/ws/v1/cluster/apps/" + app)["app"]
            if a["state"] in states and (not containers or a.get("runningContainers", 0) >= containers):
                return a
            time.sleep(0.25)
        print("warning: %s is %s" % (app, a["state"]), file=sys.stderr)
        return a

    def await_logs(self, *apps, secs=60, settle=0):
        """Until the logs of applications that have ended are collected, and for `settle` seconds at least."""
        time.sleep(settle)
        for app in apps:
            for _ in range(secs * 4):
                if self.get("/ws/v1/cluster/apps/" + app)["app"].get("logAggregationStatus") == "SUCCEEDED":
                    break
                time.sleep(0.25)
            else:
                print("warning: the logs of %s are not collected" % app, file=sys.stderr)

    def submission(self, app, queue, command, mem=512, **kw):
        d = {"application-id": app, "application-name": "rest", "queue": queue, "priority": 1,
             "application-type": "REST", "max-app-attempts": 1, "unmanaged-AM": False,
             "keep-containers-across-application-attempts": False,
             "resource": {"memory": mem, "vCores": 1},
             "am-container-spec": {"commands": {"command": command},
                                   "environment": {"entry": [{"key": "GREETING", "value": "hello"}]}}}
        d.update(kw)
        return json.dumps(d)

    def rest_submit(self, name, user, queue, command, **kw):
        """new-application and submission over REST, both recorded."""
        _, b = self.http(name + "-new", "/ws/v1/cluster/apps/new-application?user.name=" + user, "POST", body="")
        app = json.loads(b)["application-id"]
        body = self.submission(app, queue, command, **kw)
        self.http(name, "/ws/v1/cluster/apps?user.name=" + user, "POST", ctype="application/json", body=body)
        return app
