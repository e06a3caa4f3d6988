"""The steps that record.py takes, by set."""
import json

CS = "yarn.scheduler.capacity."
STORE = "yarn.scheduler.configuration.store.class"
QUEUES = {
    CS + "root.queues": "default,prod", CS + "root.default.capacity": "40", CS + "root.prod.capacity": "60", CS + "root.prod.maximum-capacity": "80",
    CS + "root.prod.queues": "etl,adhoc", CS + "root.prod.etl.capacity": "50", CS + "root.prod.adhoc.capacity": "50",
    CS + "root.default.maximum-applications": "100", CS + "maximum-am-resource-percent": "0.3",
}
SETS = ["memory", "leveldb", "fs", "file", "fair", "acl", "policy"]


def put(body, kind="application/json", **kw):
    return dict({"do": "http", "method": "PUT", "type": kind, "body": body if isinstance(body, str) else json.dumps(body)}, **kw)


def xml(body, **kw):
    return put("<sched-conf>" + body + "</sched-conf>", "application/xml", **kw)


def queue(path, **params):
    return {"queue-name": path, "params": {"entry": [{"key": k.replace("_", "-"), "value": v} for k, v in params.items()]}}


def get(path="", **kw):
    return dict({"do": "http", "path": path}, **kw)


def validate(body, **kw):
    return put(body, method="POST", path="/validate", **kw)


def cli(*args):
    return {"do": "cli", "args": list(args)}


CHANGES = [
    get("/version"), get("/version", accept="application/xml"), get("", accept="text/plain"),
    put({"update-queue": [queue("root.default", maximum_capacity="50")]}),
    xml("<update-queue><queue-name> root.default </queue-name><params><entry><key>maximum-capacity</key><value> 84 </value></entry></params></update-queue>"),
    put({"update-queue": [queue("root.default", maximum_capacity="")]}),
    put({"update-queue": {"queue-name": "root.default", "params": {"entry": {"key": "maximum-applications", "value": 7}}}}),
    put({"update-queue": [{"queue-name": "root.default", "params": {"entry": [{"key": "maximum-applications"}]}}]}),
    put({"update-queue": [queue("root.default", capacity="41")]}),
    put({"update-queue": [queue("root.default", capacity="41"), queue("root.prod", capacity="59")]}),
    put({"update-queue": [queue("root.default", capacity="many")]}),
    put({"add-queue": [queue("root.prod.web", capacity="0", maximum_capacity="30")]}),
    put({"add-queue": [queue("root.prod.web", capacity="0")]}),
    put({"add-queue": [queue("root", capacity="0")]}), put({"add-queue": [queue("g", capacity="0")]}), put({"add-queue": [queue("", capacity="0")]}),
    put({"add-queue": [queue("root.nowhere.g", capacity="100")]}),
    put({"add-queue": [queue("root.default.sub", capacity="100")]}),
    put({"remove-queue": "root.default.sub"}),
    put({"update-queue": [queue("root.default.sub", state="STOPPED")], "remove-queue": "root.default.sub"}),
    put({"remove-queue": "root.prod.web"}), put({"remove-queue": ["root.nothing"]}), put({"remove-queue": "root"}), put({"remove-queue": "g"}),
    put({"update-queue": [queue("root.prod.web", state="STOPPED")]}),
    put({"remove-queue": "root.prod.web"}),
    put({"add-queue": [{"queue-name": "root.prod.plain"}]}),
    xml("<remove-queue>root.prod.plain</remove-queue><update-queue><queue-name>root.prod.plain</queue-name><params><entry><key>state</key><value>STOPPED</value></entry></params></update-queue>"),
    put({"update-queue": [queue("root.unknown", capacity="5"), queue("a", capacity="5")]}),
    put({"global-updates": [{"entry": [{"key": CS + "maximum-applications", "value": "5000"}, {"key": "colour", "value": "blue"}]}]}),
    put({"global-updates": {"entry": {"key": "colour", "value": ""}}}),
    put({"update-queue": [queue("root.default", maximum_applications="1")], "global-updates": [{"entry": {"key": CS + "root.default.maximum-applications", "value": "2"}}]}),
    xml("<global-updates><entry><key>%smaximum-applications</key><value>6000</value></entry></global-updates>" % CS),
    put({"sched-conf": {"update-queue": [queue("root.default", maximum_applications="9")]}}), put({"colour": 1}), put({}), put([]), xml(""),
    put({"update-queue": [{"queue-name": "root.default", "params": {"maximum-applications": "9"}}]}),
    put("null"), put('"text"'), put("{"), put(""), put("", "application/xml"), put("<conf/>", "application/xml"), put("<sched-conf>", "application/xml"),
    put("<!DOCTYPE x><sched-conf/>", "application/xml"), put("{}", "text/plain"), {"do": "http", "method": "PUT"}, {"do": "http", "method": "PUT", "body": "{}"},
    get("", method="DELETE"), get("", method="OPTIONS"), get("", method="POST", type="application/json", body="{}"),
    put({}, accept="application/xml"), put({"remove-queue": "root"}, accept="application/xml"),
    validate({"update-queue": [queue("root.default", maximum_applications="77")]}, keep="sorted"),
    validate({"update-queue": [queue("root.default", capacity="1")]}), validate({"remove-queue": "root.prod.etl"}), validate({"remove-queue": "root"}),
    validate({"update-queue": [queue("root.default", capacity="many")]}), validate("null"), validate("{"),
    put({"update-queue": [queue("root.prod", state="STOPPED")]}), put({"update-queue": [queue("root.prod", state="RUNNING")]}),
    put({"update-queue": [queue("root.prod.etl", state="RUNNING"), queue("root.prod.adhoc", state="RUNNING")]}),
    put({"remove-queue": ["root.prod.etl", "root.prod.adhoc"], "update-queue": [queue("root.prod.etl", state="STOPPED"), queue("root.prod.adhoc", state="STOPPED")]}),
    put({"update-queue": [queue("root.prod", capacity="5w"), queue("root.default", capacity="5w")]}),
    cli("rmadmin", "-refreshQueues"),
]
COMMANDS = [
    cli("schedulerconf"), cli("schedulerconf", "-help"), cli("schedulerconf", "-getconf"), cli("schedulerconf", "-bogus"),
    cli("schedulerconf", "-update", "root.default:maximum-applications=11"), cli("schedulerconf", "-add", "root.x"), cli("schedulerconf", "-add", "root.x:a=b=c"),
    cli("schedulerconf", "-update", "root.default:=5"), cli("schedulerconf", "-remove", "root.none"), cli("schedulerconf", "-global", "colour=green"),
    cli("schedulerconf", "-update", ":a=b"), cli("schedulerconf", "-add"), cli("schedulerconf", "-format"),
]
AGAIN = [
    {"do": "restart"},
    {"do": "file", "file": dict(QUEUES, **{CS + "root.default.ordering-policy": "fair", CS + "root.default.maximum-applications": "55"})},
    {"do": "restart"},
    put({"global-updates": [{"entry": {"key": "colour", "value": "red"}}]}),
    put({"global-updates": [{"entry": {"key": CS + "root.default.ordering-policy", "value": ""}}]}),
    put({"add-queue": [queue("root.extra", capacity="1w")]}),
    get("/format"),
    put({"update-queue": [queue("root.extra", state="STOPPED")]}),
    get("/format"), get("/format", accept="application/xml"),
    {"do": "restart"},
]
REFUSED = [get(), get("/version"), get("/format"), put({}), put("{"), validate({}), get("", accept="application/xml"), put({}, accept="application/xml"),
           put({"remove-queue": "root"}), cli("schedulerconf", "-getconf"), cli("schedulerconf", "-format"), cli("schedulerconf", "-global", "a=b"), cli("rmadmin", "-refreshQueues")]
WHO = [dict(s, user=u) for u in ("yarn", "root", "bob", "etl") for s in (
    get("/version"), put({}), put({"update-queue": [queue("root.prod.etl", maximum_applications="5")]}), put({"add-queue": [queue("root.prod.etl.x", capacity="100")]}),
    put({"global-updates": [{"entry": {"key": "colour", "value": "red"}}]}), put({"remove-queue": "root.prod.none"}),
    validate({"update-queue": [queue("root.prod.etl", maximum_applications="5")]}))]


def of(name):
    settings, queues, todo = {STORE: name}, dict(QUEUES), []
    if name in ("memory", "leveldb", "fs", "zk"):
        todo = CHANGES + (COMMANDS if name == "memory" else []) + AGAIN
    if name == "leveldb":
        settings["yarn.scheduler.configuration.leveldb-store.path"] = "@DIR@/confstore"
    if name in ("file", "fair"):
        settings, todo = {}, REFUSED
    if name == "fair":
        settings, queues = {STORE: "memory"}, {}
    if name in ("acl", "policy"):
        todo = WHO
        settings = {STORE: "memory", "yarn.scheduler.configuration.mutation.acl-policy.class":
                    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.conf.QueueAdminConfigurationMutationACLPolicy", "yarn.admin.acl": "yarn"}
        queues[CS + "root.acl_administer_queue"] = " "
        queues[CS + "root.prod.etl.acl_administer_queue"] = "etl"
    if name == "acl":
        settings["yarn.acl.enable"] = "true"
    return settings, queues, todo
