# The inputs: hand() and own() give the hand-written cases, seeded(N) the random case of one seed. A case is {"name", "args", "files"};
# {dir} in arguments and files is the scratch folder; a file name that ends in / is an empty folder; conf/ is the configuration directory.
import random
F = "yarn.scheduler.fair."
X = lambda s: s.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

def site(props):
    return "<configuration>\n" + "".join("<property><name>%s</name><value>%s</value></property>\n" % (k, X(str(v))) for k, v in props.items()) + "</configuration>\n"

def tag(name, text=None, /, **attr):
    a = "".join(' %s="%s"' % kv for kv in attr.items())
    return "<%s%s/>" % (name, a) if text is None else "<%s%s>%s</%s>" % (name, a, text, name)

def q(name, /, *inner, **fields):
    """one queue: fields are child elements, inner is further XML; type_='parent' is the attribute"""
    attr = {"name": name}
    if "type_" in fields: attr["type"] = fields.pop("type_")
    return tag("queue", "".join([tag(k, v) for k, v in fields.items()] + list(inner)), **attr) + "\n"

def alloc(*inner): return '<?xml version="1.0"?>\n<allocations>\n' + "\n".join(inner) + "\n</allocations>\n"
def rule(name, inner="", create=None):
    a = {"name": name}
    if create is not None: a["create"] = create
    return tag("rule", inner or None, **a)
def policy(*rules): return tag("queuePlacementPolicy", "\n" + "\n".join(rules) + "\n")

def case(name, fair, *more, y=None, rules=None, f=True, o=True, args=None, files=None):
    fl = {}
    if y is not False: fl["yarn-site.xml"] = y if isinstance(y, str) else site(y or {})
    if fair is not None: fl["fair-scheduler.xml"] = fair
    fl["out/"] = None
    if args is None:
        args = ["-y", "{dir}/yarn-site.xml"]
        if f: args += ["-f", "{dir}/fair-scheduler.xml"]
        if o: args += ["-o", "{dir}/out"]
        if rules is not None: args += ["-r", "{dir}/rules.properties"]
        args += list(more)
    if rules is not None: fl["rules.properties"] = rules
    fl.update(files or {})
    return {"name": name, "args": args, "files": fl}

AB = alloc(q("a", weight=1), q("b", weight=3))
def hand():
    c = []
    def add(*a, **k): c.append(case("hand-" + a[0], *a[1:], **k))
    Y, FS, O = ["-y", "{dir}/yarn-site.xml"], ["-f", "{dir}/fair-scheduler.xml"], ["-o", "{dir}/out"]
    # options
    add("nothing", AB, args=[]); add("help", AB, args=["-h"]); add("help-with-others", AB, "--help"); add("unknown-option", AB, "-z")
    add("missing-argument", AB, args=Y + FS + ["-o"]); add("no-yarn-site", AB, args=FS + O); add("no-output", AB, o=False); add("no-fair-file", AB, f=False)
    add("console", AB, "-p", o=False); add("console-and-output", AB, "-p"); add("console-and-output-unverified", AB, "-p", "-s"); add("console-rules-to-file", AB, "-p", "-e", o=False)
    add("rules-to-file", AB, "-e"); add("skip-rules", AB, "-sp"); add("long-options", AB, args=["--yarnsiteconfig", "{dir}/yarn-site.xml", "--fsconfig", "{dir}/fair-scheduler.xml", "--output-directory", "{dir}/out", "--percentage", "--skip-verification", "--rules-to-file"])
    add("option-prefix", AB, args=Y + ["--fs", "{dir}/fair-scheduler.xml"] + O); add("stray-argument", AB, "stray", "-pc"); add("option-twice", AB, "-o", "{dir}/out2", files={"out2/": None})
    add("dry-run", AB, "-d"); add("dry-run-no-output", AB, "-d", o=False); add("dry-run-console", AB, "-d", "-p", o=False)
    add("async", AB, "-a"); add("async-with-continuous", AB, "-a", y={F + "continuous-scheduling-enabled": "true", F + "continuous-scheduling-sleep-ms": "17"})
    add("disable-preemption-nopolicy", AB, "-dp", "nopolicy"); add("disable-preemption-nopolicy-enabled", AB, "-dp", "nopolicy", y={F + "preemption": "true"}); add("disable-preemption-observeonly", AB, "-dp", "observeonly", y={F + "preemption": "true"})
    add("disable-preemption-unknown", AB, "-dp", "NoPolicy"); add("cluster-resource", AB, "-c", "memory-mb=8192,vcores=8"); add("cluster-resource-old-style", AB, "-c", "8192 mb, 8 vcores"); add("cluster-resource-bad", AB, "-c", "much"); add("cluster-resource-percent", AB, "-c", "50%"); add("cluster-resource-empty", AB, "-c", "")
    # files
    add("yarn-site-missing", AB, y=False); add("fair-missing", None); add("output-missing", AB, args=Y + FS + ["-o", "{dir}/nowhere"]); add("output-is-a-file", AB, args=Y + FS + ["-o", "{dir}/fair-scheduler.xml"]); add("yarn-site-is-a-folder", AB, args=["-y", "{dir}/out"] + FS + O)
    add("rules-missing", AB, "-r", "{dir}/rules.properties"); add("output-beside-input", AB, args=Y + FS + ["-o", "{dir}"]); add("output-has-yarn-site", AB, files={"out/yarn-site.xml": site({})}); add("output-has-capacity", AB, files={"out/capacity-scheduler.xml": site({})})
    add("output-has-rules", AB, files={"out/mapping-rules.json": "{}"}); add("output-has-rules-to-file", AB, "-e", files={"out/mapping-rules.json": "{}"}); add("rules-to-file-no-output", AB, "-d", "-e", o=False)
    add("fair-by-yarn-site", AB, f=False, y={F + "allocation.file": "{dir}/fair-scheduler.xml"}); add("fair-by-yarn-site-missing", AB, f=False, y={F + "allocation.file": "{dir}/none.xml"}); add("fair-relative", AB, args=["-y", "yarn-site.xml", "-f", "fair-scheduler.xml", "-o", "out"])
    add("fair-relative-in-conf", None, args=["-y", "yarn-site.xml", "-f", "conf/../fair-scheduler.xml", "-o", "out"], files={"conf/fair-scheduler.xml": AB, "fair-scheduler.xml": alloc(q("other"))}); add("fair-in-conf-by-name", None, f=False, y={F + "allocation.file": "fair-scheduler.xml"}, files={"conf/fair-scheduler.xml": AB})
    add("capacity-in-conf", AB, files={"conf/capacity-scheduler.xml": site({"yarn.scheduler.capacity.root.a.priority": 7, "yarn.scheduler.capacity.node-locality-delay": 5})}); add("yarn-site-in-conf", AB, files={"conf/yarn-site.xml": site({F + "sizebasedweight": "true", F + "max.assign": 3})}, y={F + "max.assign": 4})
    add("yarn-site-empty-file", AB, y=""); add("yarn-site-broken", AB, y="<configuration><property>"); add("yarn-site-other-root", AB, y="<stuff/>"); add("fair-empty-file", ""); add("fair-broken", "<allocations><queue name='a'>"); add("fair-other-root", "<queues/>"); add("fair-empty", alloc())
    add("fair-unknown-elements", alloc(q("a", nonsense=3, weight=2), tag("color", "red"))); add("fair-empty-element", alloc(q("a", "<weight/>"))); add("fair-not-a-number", alloc(q("a", weight="heavy"))); add("fair-comments", alloc("<!-- x -->", q("a", "<!-- y -->", weight="<!-- z --> 4 ")))
    # trees
    add("queue-without-name", alloc("<queue><weight>1</weight></queue>")); add("queue-name-dot", alloc(q("a.b"))); add("queue-name-blank", alloc(q("  "))); add("queue-names-odd", alloc(q(" x "), q("ünï"), q("a b"), q("Q_1-2"))); add("queue-twice", alloc(q("a", weight=1), q("a", weight=5)))
    add("pool-elements", alloc('<pool name="p"><pool name="c"><weight>2</weight></pool></pool>')); add("root-explicit", alloc(q("root", q("a"), q("b"), weight=5, maxRunningApps=9))); add("root-and-other", alloc(q("root", q("a")), q("b"))); add("root-upper-case", alloc(q("ROOT", q("a"))))
    add("parent-type", alloc(q("a", type_="parent"), q("b"))); add("parent-type-am-share", alloc(q("a", type_="parent", maxAMShare="0.3"))); add("default-queue", alloc(q("default", weight=2), q("a"))); add("deep", alloc(q("a", q("b", q("c", q("d", q("e", weight=2), q("f")), weight=3))))); add("queue-suffix-tags", alloc(q("a", '<e name="x"/>', '<ueue name="z"><weight>2</weight></ueue>')))
    # weights
    add("weights", alloc(q("a", weight="1"), q("b", weight="2.5"), q("c", weight="0"), q("d"), q("e", weight="0.1"), q("f", weight="1e3"), q("g", weight="123456789.5"))); add("weights-negative", alloc(q("a", weight="-1"), q("b"))); add("weights-nan", alloc(q("a", weight="NaN"), q("b")))
    add("percent", alloc(q("a", weight=1), q("b", weight=2), q("c", q("d", weight=7)), q("e", q("f"), q("g", weight=4))), "-pc"); add("percent-thirds", alloc(q("a"), q("b"), q("c")), "-pc"); add("percent-sevenths", alloc(*[q("q%d" % i) for i in range(7)]), "-pc"); add("percent-highest-corrected", alloc(q("a", weight=10), q("b", weight=10), q("c", weight=11), q("d", weight=2)), "-pc")
    add("percent-zero", alloc(q("a", weight=0), q("b", weight=0)), "-pc"); add("percent-one-zero", alloc(q("a", weight=0), q("b", weight=5)), "-pc"); add("percent-single-zero", alloc(q("a", weight=0)), "-pc"); add("percent-fractions", alloc(q("a", weight="1.5"), q("b", weight="1.5"), q("c", weight="1.5")), "-pc"); add("percent-below-one", alloc(q("a", weight="0.5"), q("b", weight="0.25")), "-pc")
    add("percent-sum-one-and-a-bit", alloc(q("a", weight="0.75"), q("b", weight="0.75")), "-pc"); add("percent-decimal", alloc(q("a", weight="0.1"), q("b", weight="0.9")), "-pc"); add("percent-sixteenth", alloc(q("a", weight="0.0625"), q("b", weight="3")), "-pc"); add("percent-negative", alloc(q("a", weight="-1"), q("b", weight="3")), "-pc"); add("percent-big", alloc(q("a", weight="4000000000"), q("b", weight="1")), "-pc"); add("percent-small-share", alloc(q("a", weight="999999"), q("b", weight="1")), "-pc")
    add("percent-many-decimals", alloc(q("a", weight="0.1"), q("b", weight="2")), "-pc"); add("percent-empty", alloc(), "-pc"); add("percent-parent-type", alloc(q("a", type_="parent"), q("b")), "-pc"); add("percent-zero-parent", alloc(q("a", q("x"), weight=0), q("b")), "-pc"); add("percent-two-ties", alloc(q("a", q("x"), q("y"), q("z")), q("b"), q("c")), "-pc")
    add("weights-limit", alloc(q("a", weight="10000"), q("b", weight="10000.5")), "-s"); add("dry-run-verification-fails", alloc(q("a", weight="10001")), "-d"); add("dry-run-broken", "<allocations>", "-d"); add("dry-run-warnings", alloc(q("a", maxResources="1 mb, 1 vcores"), q("b", maxResources="2 mb, 2 vcores"), q("c", q("d"), maxChildResources="1 mb, 1 vcores")), "-d", y={"yarn.resourcemanager.reservation-system.enable": "true"})
    add("rules-to-file-skipped", AB, "-e", "-sp"); add("queue-same-name", alloc(q("a", q("x")), q("b", q("x"), q("a")))); add("nopolicy-percent", AB, "-dp", "nopolicy", "-pc", y={F + "preemption": "true"})
    # resources
    for n, v in [("mb", "1024 mb, 2 vcores"), ("spaces", "2 vcores 1024 mb"), ("decimals", "1024.7 mb, 2.9 vcores"), ("percent", "50%"), ("percent-two", "50% memory, 30.5% cpu"), ("new", "memory-mb=1024, vcores=2"), ("new-part", "vcores=2"), ("new-percent", "memory-mb=50%, vcores=30%"), ("new-mixed", "memory-mb=50%, vcores=3"), ("unknown", "gpu=1"), ("negative", "-1 mb, 2 vcores"), ("one", "1024 mb"), ("new-negative", "vcores=-1"), ("blank", " ")]:
        add("max-resources-" + n, alloc(q("a", maxResources=v)))
    add("max-resources-default", alloc(tag("queueMaxResourcesDefault", "1024 mb, 2 vcores"), q("a"), q("p", q("b")))); add("max-resources-unbounded", alloc(q("a", maxResources="2147483647 mb, 2147483647 vcores"))); add("max-resources-unbounded-new", alloc(q("a", maxResources="memory-mb=9223372036854775807, vcores=2147483647"))); add("custom-resource", alloc(q("a", maxResources="gpu=3"), q("b", minResources="gpu=1", maxResources="20%")), files={"conf/resource-types.xml": site({"yarn.resource-types": "gpu"})})
    add("min-resources", alloc(q("a", minResources="1 mb, 1 vcores"))); add("min-resources-zero", alloc(q("a", minResources="0 mb, 0 vcores"))); add("min-resources-percent", alloc(q("a", minResources="10%"))); add("min-above-max", alloc(q("a", minResources="10 mb, 10 vcores", maxResources="1 mb, 1 vcores"))); add("max-child-resources", alloc(q("a", q("b"), maxChildResources="1 mb, 1 vcores"), q("c", q("d"), maxChildResources="20%")))
    add("max-container-allocation", alloc(q("a", q("b", maxContainerAllocation="2048 mb, 2 vcores"), q("c", maxContainerAllocation="1024 mb, 2 vcores"), q("d"), maxContainerAllocation="2048 mb, 2 vcores"))); add("max-container-allocation-part", alloc(q("a", maxContainerAllocation="vcores=2"), q("b", maxContainerAllocation="memory-mb=5000"))); add("max-container-allocation-percent", alloc(q("a", maxContainerAllocation="50%"))); add("max-container-allocation-high", alloc(q("a", maxContainerAllocation="1000000 mb, 1000 vcores"))); add("max-container-allocation-root", alloc(q("root", q("a"), q("b", maxContainerAllocation="4096 mb, 4 vcores"), maxContainerAllocation="4096 mb, 4 vcores")))
    # shares and limits
    add("am-share", alloc(*[q("q%d" % i, maxAMShare=v) for i, v in enumerate(["0", "0.5", "0.3", "-1", "1", "1.7", "-0.5", "0.123456789"])])); add("am-share-default", alloc(tag("queueMaxAMShareDefault", "0.7"), q("a", maxAMShare="0.7"), q("b"), q("c", maxAMShare="0.5"))); add("am-share-default-off", alloc(tag("queueMaxAMShareDefault", "-1.0"), q("a"), q("b", maxAMShare="-1"), q("c", maxAMShare="0.5"))); add("am-share-default-high", alloc(tag("queueMaxAMShareDefault", "3"), q("a"))); add("am-share-default-negative", alloc(tag("queueMaxAMShareDefault", "-0.4"), q("a"))); add("am-share-parent", alloc(q("a", q("b"), maxAMShare="0.3")))
    add("max-apps", alloc(q("a", q("b", maxRunningApps=3), maxRunningApps=5), q("c", maxRunningApps=0))); add("max-apps-default", alloc(tag("queueMaxAppsDefault", 4), q("a", maxRunningApps=4), q("b"), q("c", q("d", maxRunningApps=2147483647)))); add("max-apps-negative", alloc(q("a", maxRunningApps=-1))); add("max-apps-user", alloc(tag("userMaxAppsDefault", 6), tag("user", tag("maxRunningApps", 2), name="al"), tag("user", tag("maxRunningApps", 6), name="bo"), tag("user", "", name="cy"), q("a"))); add("max-apps-user-dot", alloc(tag("user", tag("maxRunningApps", 2), name="a.b"), tag("user", tag("maxRunningApps", 3)), q("a")))
    # policies
    add("policies", alloc(q("a", schedulingPolicy="fair"), q("b", schedulingPolicy="fifo"), q("c", schedulingMode="FAIR"))); add("policies-drf-leaf-below-fair", alloc(q("a", schedulingPolicy="drf"), q("b"))); add("policies-drf-default", alloc(tag("defaultQueueSchedulingPolicy", "drf"), q("a"), q("b", schedulingPolicy="fair"), q("c", schedulingPolicy="fifo"), q("d", schedulingPolicy="drf"))); add("policies-drf-parent", alloc(q("root", q("p", q("x", schedulingPolicy="fair"), q("y", schedulingPolicy="fifo"), schedulingPolicy="drf"), q("z"), schedulingPolicy="drf")))
    add("policies-default-fifo", alloc(tag("defaultQueueSchedulingPolicy", "fifo"), q("a"))); add("policies-default-mode", alloc(tag("defaultQueueSchedulingMode", "DRF"), q("a"))); add("policies-unknown", alloc(q("a", schedulingPolicy="lottery"))); add("policies-class", alloc(q("a", schedulingPolicy="org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies.FifoPolicy"))); add("policies-fifo-parent", alloc(q("p", q("x"), q("y", schedulingPolicy="fifo"), schedulingPolicy="fifo"), q("b"))); add("policies-fifo-empty-parent", alloc(q("p", schedulingPolicy="fifo", type_="parent"), q("b")))
    # access, preemption, reservations
    add("acls", alloc(q("a", aclSubmitApps="al", aclAdministerApps="bo,cy gr,hr"), q("b", aclSubmitApps=" ", aclAdministerApps=" gr"), q("c", aclSubmitApps="*"), q("d", aclSubmitApps="al gr", aclAdministerReservations="zz", aclListReservations="*", aclSubmitReservations="yy"), q("e"))); add("acls-root", alloc(q("root", q("a"), aclSubmitApps="al", aclAdministerApps=" "))); add("acls-root-default", alloc(q("root", q("a")))); add("acls-empty", alloc(q("a", aclSubmitApps=""))); add("acls-spaces", alloc(q("a", aclSubmitApps=" al , bo  gr , hr "), q("b", aclSubmitApps="al bo cy"), q("c", aclSubmitApps="al,*")))
    pre = alloc(q("a", allowPreemptionFrom="false"), q("p", q("x", allowPreemptionFrom="true"), q("y"), allowPreemptionFrom="false"), q("z", allowPreemptionFrom="True", fairSharePreemptionTimeout=5, minSharePreemptionTimeout=6, fairSharePreemptionThreshold="0.3"))
    add("preemption-off", pre); add("preemption-on", pre, y={F + "preemption": "true", F + "waitTimeBeforeKill": 1234, F + "waitTimeBeforeNextStarvationCheck": 5678, F + "preemption.cluster-utilization-threshold": "0.5"}); add("preemption-percent", pre, "-pc", y={F + "preemption": "true"}); add("preemption-globals", alloc(tag("defaultFairSharePreemptionTimeout", 3), tag("defaultMinSharePreemptionTimeout", 3), tag("defaultFairSharePreemptionThreshold", "0.9"), tag("fairSharePreemptionTimeout", 4), q("a")), y={F + "preemption": "true"})
    res = {"yarn.resourcemanager.reservation-system.enable": "true"}
    add("reservation-system", AB, y=res); add("reservation-system-abort", AB, y=res, rules="reservationSystem.action=abort\n"); add("reservation-queue", alloc(q("a", "<reservation/>"), q("b"), tag("reservation-agent", "x"), tag("reservation-planner", "y"), tag("reservation-policy", "z"))); add("reservation-parent", alloc(q("a", "<reservation/>", q("b"))))
    # yarn-site
    for k, v in [("continuous-scheduling-enabled", "true"), ("continuous-scheduling-sleep-ms", "9"), ("assignmultiple", "true"), ("max.assign", "7"), ("max.assign", "-1"), ("dynamic.max.assign", "false"), ("sizebasedweight", "true"), ("locality.threshold.node", "0.5"), ("locality.threshold.rack", "1"), ("locality.threshold.node", "-1"), ("locality-delay-node-ms", "100"), ("locality.threshold.node", "lots"), ("preemption", "yes"), ("update-interval-ms", "-5")]:
        add("site-%s-%s" % (k, v), AB, y={F + k: v})
    add("site-dynamic-max-assign-abort", AB, y={F + "assignmultiple": "true", F + "dynamic.max.assign": "true"}, rules="dynamicMaxAssign.action=abort\n"); add("site-other-keys-dropped", AB, y={"yarn.resourcemanager.hostname": "h", "yarn.scheduler.minimum-allocation-mb": 512, "yarn.resourcemanager.scheduler.monitor.policies": "x.Y"}); add("site-variable", AB, y={"n": "5", F + "max.assign": "${n}"}); add("site-min-above-max", AB, y={"yarn.scheduler.minimum-allocation-mb": 9000, "yarn.scheduler.maximum-allocation-mb": 100}); add("site-final-and-space", AB, y="<configuration><property><name> %smax.assign </name><value> 5 </value><final>true</final></property></configuration>" % F); add("site-allocation-above", alloc(q("a", maxContainerAllocation="9000 mb, 9 vcores")), y={"yarn.scheduler.maximum-allocation-mb": 4096})
    # placement
    every = policy(rule("specified"), rule("primaryGroup", create="false"), rule("secondaryGroupExistingQueue"), rule("user", create="false"), rule("nestedUserQueue", rule("primaryGroup", create="false"), create="false"), rule("nestedUserQueue", rule("secondaryGroupExistingQueue", create="true"), create="false"), rule("nestedUserQueue", rule("default", create="false")), rule("default", create="false"), rule("reject"))
    for n, o in [("", []), ("-percent", ["-pc"]), ("-abort", [])]:
        add("placement-every" + n, alloc(q("a"), every), *o, rules="queueDynamicCreate.action=abort\nparentDynamicCreate.action=abort\nchildStaticDynamicConflict.action=abort\nparentChildCreateDiff.action=abort\n" if n == "-abort" else None)
    add("placement-default-queue", alloc(q("a"), policy(tag("rule", name="default", queue="a")))); add("placement-default-queue-full", alloc(q("a"), policy(tag("rule", name="default", queue="root.a")))); add("placement-default-root-default", alloc(q("a"), policy(tag("rule", name="default", queue="root.default")))); add("placement-default-root", alloc(q("a"), policy(tag("rule", name="default", queue="root"))))
    nest = lambda qn, pc, cc: alloc(q("a"), q("p", type_="parent"), q("s", q("t")), policy(rule("nestedUserQueue", tag("rule", name="default", queue=qn, create=pc), create=cc), rule("reject")))
    add("placement-nested-default", nest("root.p", "false", "true"), "-pc"); add("placement-nested-default-conflict", nest("root.s", "true", "true"), "-pc"); add("placement-nested-default-conflict-abort", nest("root.s", "false", "true"), "-pc", rules="childStaticDynamicConflict.action=abort\n"); add("placement-nested-default-weights", nest("root.s", "true", "false")); add("placement-user-with-parent", alloc(q("a"), policy(rule("user", rule("primaryGroup")))))
    add("placement-specified-parent", alloc(q("a"), policy(rule("nestedUserQueue", rule("specified")), rule("default")))); add("placement-nested-user", alloc(q("a"), policy(rule("nestedUserQueue", rule("user"))))); add("placement-nested-nothing", alloc(q("a"), policy(rule("nestedUserQueue")))); add("placement-nested-reject", alloc(q("a"), policy(rule("nestedUserQueue", rule("reject"))))); add("placement-nested-two", alloc(q("a"), policy(rule("nestedUserQueue", rule("primaryGroup") + rule("default"))))); add("placement-group-with-parent", alloc(q("a"), q("p"), policy(rule("primaryGroup", tag("rule", name="default", queue="root.p")))))
    add("placement-not-terminal", alloc(q("a"), policy(rule("specified")))); add("placement-unreachable", alloc(q("a"), policy(rule("user"), rule("default")))); add("placement-unreachable-allowed", alloc(q("a"), policy(rule("user"), rule("default"))), "-t"); add("placement-not-terminal-allowed", alloc(q("a"), policy(rule("specified"))), "-t"); add("placement-unknown", alloc(q("a"), policy(rule("lottery")))); add("placement-no-name", alloc(q("a"), policy("<rule/>"))); add("placement-empty", alloc(q("a"), "<queuePlacementPolicy/>")); add("placement-only-text", alloc(q("a"), tag("queuePlacementPolicy", " x "))); add("placement-create-odd", alloc(q("a"), policy(rule("user", create="yes"), rule("primaryGroup", create="TRUE")))); add("placement-upper-case", alloc(q("a"), policy(rule("Default")))); add("placement-bad-but-skipped", alloc(q("a"), policy(rule("lottery"))), "-sp")
    for u in ("true", "false"):
        for w in ("true", "false"): add("placement-site-user-%s-undeclared-%s" % (u, w), AB, y={F + "user-as-default-queue": u, F + "allow-undeclared-pools": w})
    # conversion rules
    lim = alloc(q("a", q("x"), q("y"), q("z")), q("b"))
    add("rules-empty", AB, rules=""); add("rules-child-limit", lim, rules="maxChildQueue.limit=2\n"); add("rules-child-limit-met", lim, rules="maxChildQueue.limit=3\n"); add("rules-child-limit-word", lim, rules="maxChildQueue.limit=few\n"); add("rules-child-limit-space", lim, rules="maxChildQueue.limit= 2 \n"); add("rules-child-limit-empty", lim, rules="maxChildQueue.limit=\n"); add("rules-child-limit-dry", lim, "-d", rules="maxChildQueue.limit=2\n"); add("rules-unknown", AB, rules="no.such.rule=abort\nminResources.action=maybe\n")
    for n, fair in [("maxResources", alloc(q("a", maxResources="1 mb, 1 vcores"))), ("minResources", alloc(q("a", minResources="1 mb, 1 vcores"))), ("maxChildCapacity", alloc(q("a", q("b"), maxChildResources="1 mb, 1 vcores"))), ("fairAsDrf", alloc(tag("defaultQueueSchedulingPolicy", "drf"), q("a", schedulingPolicy="fair"))), ("maxCapacityPercentage", alloc(q("a", maxResources="10%")))]:
        add("rules-abort-" + n, fair, rules=n + ".action=ABORT\n"); add("rules-abort-dry-" + n, fair, "-d", rules=n + ".action=abort\n")
    add("rules-warning", alloc(q("a", maxResources="1 mb, 1 vcores", minResources="1 mb, 1 vcores")), rules="maxResources.action=WaRnInG\nminResources.action = warning # no comment\n")
    return c

def own():
    """what the first ones leave open: single actions of conversion rules, numbers, forms of options and of properties"""
    c = []
    def add(n, *a, **k): c.append(case("own-" + n, *a, **k))
    AB=alloc(q("a"),q("b"))
    qd="queueDynamicCreate.action=abort\n"; pd="parentDynamicCreate.action=abort\n"; sc="childStaticDynamicConflict.action=abort\n"; pc="parentChildCreateDiff.action=abort\n"
    R0=rule("reject")
    for n,rs in [("primary",rule("primaryGroup",create="true")),("secondary",rule("secondaryGroupExistingQueue")+R0),("user",rule("user")),("nested-primary",rule("nestedUserQueue",rule("primaryGroup",create="true"))),
       ("nested-default-child-false",rule("nestedUserQueue",tag("rule",name="default",queue="root.a",create="true"),create="false")+R0),]:
        for m,al in (("q",qd),("p",pd),("s",sc),("d",pc)):
            for w in ("w","pc"):
                add("rule-%s-%s-%s"%(n,m,w), alloc(q("a"),q("b"),policy(rs)), "-s", *(["-pc"] if w=="pc" else []), rules=al)
    add("group-with-parent-create-diff", alloc(q("a"),policy(rule("primaryGroup",rule("default",create="false"),create="true"))), rules=pc)
    add("group-with-parent-create-diff-2", alloc(q("a"),policy(rule("primaryGroup",rule("default",create="true"),create="false")+R0)), "-s", rules=pc)
    add("user-over-user-default", alloc(q("u",type_="parent"),policy(rule("user",tag("rule",name="default",queue="u")))))
    add("container-percent-inherit", alloc(q("a",q("b",q("c",maxContainerAllocation="50%"),maxContainerAllocation="1024 mb, 1 vcores"),maxContainerAllocation="50%")))
    add("container-vcores-only-inherit", alloc(q("a",q("b",maxContainerAllocation="memory-mb=2048"),maxContainerAllocation="vcores=2")))
    add("container-mixed", alloc(q("root",q("a",q("b")),q("c",maxContainerAllocation="memory-mb=2048"),maxContainerAllocation="4000 mb, 3 vcores")))
    add("reservation-acls", alloc(q("a","<reservation/>",aclSubmitApps="al",aclAdministerApps="bo g",aclSubmitReservations="cy"),q("b")))
    add("comma-name", alloc(q("a,b"),q("c")))
    add("names", alloc(q("a b",q("x y")),q("c",q("x y")),q("é"),q("Queue$1"),q("q:1"),q("q/1")))
    add("default-queue-with-children", alloc(q("default",q("x")),q("b")))
    add("deep-weights", alloc(q("a",q("b",q("c",weight="0.001"),q("d",weight="3.4028235e38"),weight="1e-5"),weight="1234.5678")), "-s")
    add("percent-decimals", alloc(q("a",weight="0.3"),q("b",weight="0.3"),q("c",weight="0.5")), "-pc")
    add("percent-negative-zero-sum", alloc(q("a",weight="-2"),q("b",weight="2")), "-pc","-s")
    add("percent-negative-cut", alloc(q("a",weight="-2.5"),q("b",weight="1")), "-pc","-s")
    add("percent-huge", alloc(q("a",weight="3e38"),q("b",weight="3e38")), "-pc","-s")
    add("percent-large", alloc(q("a",weight="3000000000"),q("b",weight="3000000000"),q("c",weight="1")), "-pc","-s")
    add("percent-tiny", alloc(q("a",weight="0.00390625"),q("b",weight="1")), "-pc","-s")
    add("percent-half-rounding", alloc(q("a",weight="1"),q("b",weight="799999")), "-pc","-s")
    add("drf-default-only", alloc(tag("defaultQueueSchedulingPolicy","drf")))
    add("drf-fifo-leaf", alloc(q("root",q("a",schedulingPolicy="fifo"),q("b",schedulingPolicy="drf"),schedulingPolicy="drf")), rules="fairAsDrf.action=abort\n")
    add("drf-parent-fair", alloc(q("root",q("p",q("x",schedulingPolicy="fifo"),schedulingPolicy="fair"),schedulingPolicy="drf")), rules="fairAsDrf.action=abort\n")
    add("drf-empty-parent-fair", alloc(q("root",q("p",type_="parent",schedulingPolicy="fair"),q("z",schedulingPolicy="drf"),schedulingPolicy="drf")), rules="fairAsDrf.action=abort\n")
    for n,al in (("child-on-leaf",alloc(q("a",maxChildResources="1 mb, 1 vcores"))),("child-on-root",alloc(q("root",q("a"),maxChildResources="1 mb, 1 vcores")))): add("max-"+n, al, rules="maxChildCapacity.action=abort\n")
    for n,al in (("unbounded",alloc(q("a",maxResources="memory-mb=9223372036854775807, vcores=2147483647"))),("default-only",alloc(tag("queueMaxResourcesDefault","1 mb, 1 vcores"))),("root",alloc(q("root",q("a"),maxResources="1 mb, 1 vcores"))),("percent",alloc(q("a",maxResources="100%")))): add("maxres-"+n, al, rules="maxResources.action=abort\n")
    for n,al in (("root",alloc(q("root",q("a"),minResources="1 mb, 1 vcores"))),("percent",alloc(q("a",minResources="10%"))),("vcores",alloc(q("a",minResources="vcores=1"))),("zero",alloc(q("a",minResources="vcores=0")))): add("minres-"+n, al, rules="minResources.action=abort\n")
    add("props-format", alloc(q("a",maxResources="1 mb, 1 vcores")), rules="# comment\n! other\n  maxResources.action : ab\\\n   ort\n")
    add("props-space", alloc(q("a",maxResources="1 mb, 1 vcores")), rules="maxResources.action abort\n")
    add("props-trailing", alloc(q("a",maxResources="1 mb, 1 vcores")), rules="maxResources.action=abort \n")
    add("props-unicode", alloc(q("a",maxResources="1 mb, 1 vcores")), rules="maxResources.action=\\u0061bort\n")
    add("props-twice", alloc(q("a",maxResources="1 mb, 1 vcores")), rules="maxResources.action=abort\nmaxResources.action=warning\n")
    add("limit-zero", alloc(q("a")), rules="maxChildQueue.limit=0\n"); add("limit-big", alloc(q("a")), rules="maxChildQueue.limit=99999999999\n"); add("limit-plus", alloc(q("a")), rules="maxChildQueue.limit=+1\n"); add("limit-none", alloc(q("a")), rules="maxChildQueue.limit=-1\n")
    add("user-limits", alloc(tag("userMaxAppsDefault",-1),tag("user",tag("maxRunningApps",0),name="al"),tag("queueMaxAppsDefault",0),q("a",maxRunningApps=0),q("b",maxRunningApps=1)))
    add("am-default-zero", alloc(tag("queueMaxAMShareDefault","0"),q("a",maxAMShare="0"),q("b",maxAMShare="0.5")))
    add("am-near", alloc(q("a",maxAMShare="-1.00001"),q("b",maxAMShare="1e-4"),q("c",maxAMShare="0.0001"),q("d",maxAMShare="-0.0")))
    add("sizebased-fifo", alloc(q("a",schedulingPolicy="fifo"),q("p",type_="parent")), y={F+"sizebasedweight":"TRUE"})
    for k,v in (("max.assign","0x10"),("max.assign",""),("max.assign","1.5"),("waitTimeBeforeKill","x"),("continuous-scheduling-sleep-ms","x"),("locality.threshold.node","NaN"),("update-interval-ms","x"),("locality-delay-node-ms","x"),("reservable-nodes","x"),("preemption.cluster-utilization-threshold","x"),("waitTimeBeforeNextStarvationCheck","-4"),("max.assign","-2"),("locality.threshold.node","-1.5"),("locality.threshold.rack","0x1p-1")):
        add("site-%s-%s"%(k,v.replace(" ","")), AB, y={F+k:v})
        add("site-on-%s-%s"%(k,v), AB, y={F+k:v,F+"preemption":"true",F+"continuous-scheduling-enabled":"true"})
    for k,v in (("yarn.scheduler.minimum-allocation-mb","x"),("yarn.scheduler.minimum-allocation-vcores","-1"),("yarn.scheduler.increment-allocation-mb","0"),("yarn.scheduler.maximum-allocation-vcores","0"),("yarn.scheduler.minimum-allocation-mb","0"),("yarn.scheduler.increment-allocation-vcores","x"),("yarn.cluster.max-application-priority","x"),("yarn.resource-types","gpu")): add("site2-%s-%s"%(k,v), AB, y={k:v})
    add("fair-uri", AB, f=False, y={F+"allocation.file":"file://{dir}/fair-scheduler.xml"}); add("fair-uri-f", AB, args=["-y","{dir}/yarn-site.xml","-f","file://{dir}/fair-scheduler.xml","-o","{dir}/out"]); add("fair-hdfs", AB, f=False, y={F+"allocation.file":"hdfs://nn/f.xml"}); add("fair-blank", AB, f=False, y={F+"allocation.file":""})
    add("fair-default-in-conf", None, f=False, files={"conf/fair-scheduler.xml":AB})
    add("capacity-in-conf-vars", AB, files={"conf/capacity-scheduler.xml":site({"x":"7","yarn.scheduler.capacity.root.a.priority":"${x}","other.key":"v","yarn.scheduler.capacity.root.queues":"default"})})
    add("print-dry-rules-file", AB, "-p","-d","-e", o=False); add("print-rules-file-skip", AB, "-p","-e","-sp", o=False); add("option-equals", AB, args=["--yarnsiteconfig={dir}/yarn-site.xml","-f={dir}/fair-scheduler.xml","-o","{dir}/out"])
    add("option-case", AB, "-PC"); add("option-value-like-option", AB, "-c", "-x"); add("dash-dash", AB, "--", "-pc"); add("attached", AB, args=["-y{dir}/yarn-site.xml","-f","{dir}/fair-scheduler.xml","-o","{dir}/out"]); add("generic-D", AB, "-D", "a=b"); add("help-and-unknown", AB, "-h", "-zz"); add("output-long", AB, args=["-y","{dir}/yarn-site.xml","-f","{dir}/fair-scheduler.xml","--output","{dir}/out"])
    add("o-not-writable-missing-y", AB, args=["-o","{dir}/none"]); add("cluster-unknown", AB, "-c","gpu=1"); add("cluster-negative","%s"%AB,"-c","-1 mb, 2 vcores"); add("cluster-mixed", AB,"-c","memory-mb=50%,vcores=1")
    add("preemption-root", alloc(q("root",q("a",allowPreemptionFrom="true"),allowPreemptionFrom="false")), y={F+"preemption":"true"})
    add("acl-variants", alloc(q("a",aclSubmitApps="  al",aclAdministerApps="al  "),q("b",aclSubmitApps="*  g"),q("c",aclSubmitApps="al *"),q("d",aclSubmitApps=","),q("e",aclSubmitApps="al,al bo,bo")))
    add("weights-text", alloc(q("a",weight="1e7"),q("b",weight="9999999"),q("c",weight="1.0E-3"),q("d",weight="0.00099"),q("e",weight="16777217"),q("f",weight="33554434"),q("g",weight="123456789012")), "-s")
    add("queue-text", alloc('<queue name="a">text<weight>2</weight></queue>')); add("rule-case", alloc(q("a"),'<queuePlacementPolicy><Rule name="specified"/><RULE name="reject"/></queuePlacementPolicy>')); add("default-dots", alloc(q("a"),policy(tag("rule",name="default",queue=".x")))); add("default-space", alloc(q("a"),policy(tag("rule",name="default",queue=" x "))))
    base=["-y","{dir}/yarn-site.xml","-f","{dir}/fair-scheduler.xml","-o","{dir}/out"]
    for n,more in (("ps",["-as"]),("pcx",["-pcx"]),("sx",["-sx"]),("ax",["-a=true"]),("dpn",["-dpnopolicy"]),("dpe",["-dp=observeonly"]),("long-attached",["--disable-preemptionnopolicy"]),("pct",["--pc"]),("pc-eq",["-pc=1"]),("dash",["-"]),("empty",[""]),("cdash",["-c","-5"]),("c-known",["-c","-d"]),("c-dd",["-c","--"]),("quoted",["-c",'"vcores=1"']),("c-eq",["-c=vcores=2"]),("c-att",["-cvcores=2"]),("c-att2",["--cluster-resource=vcores=2,memory-mb=1"])): add("opt-"+n, AB, args=base+more)
    add("observe-only-off", AB, "-dp","observeonly")
    add("fifo-parent-drf-child", alloc(q("root",q("p",q("x",schedulingPolicy="drf"),schedulingPolicy="fifo"),schedulingPolicy="drf")))
    add("conf-site-final", AB, y={F+"max.assign":4}, files={"conf/yarn-site.xml":"<configuration><property><name>%smax.assign</name><value>3</value><final>true</final></property></configuration>"%F})
    add("dry-abort-print", alloc(q("a",maxResources="1 mb, 1 vcores")), "-p","-d", o=False, rules="maxResources.action=abort\n")
    add("duplicate-queue-mixed", alloc(q("a",q("x")),q("a",weight="3")))
    add("queue-twice-nested", alloc(q("p",q("a",weight="2")),q("p",q("a",maxRunningApps="4"),q("b"))))
    return c

# random cases
NAMES = "alpha beta gamma delta eng ops etl ml adhoc batch prod dev qa sales web q1 q2 team-x team_y Default default users Rooty x y z data".split()
ACT = "maxCapacityPercentage maxChildCapacity maxResources minResources dynamicMaxAssign reservationSystem queueAutoCreate fairAsDrf queueDynamicCreate parentDynamicCreate childStaticDynamicConflict parentChildCreateDiff".split()

def seeded(seed):
    r = random.Random(seed); hit = lambda p: r.random() < p; pick = lambda *a: r.choice(a)
    percent = hit(0.42); spoil = hit(0.14); risky = hit(0.12)     # spoil: one bad input; risky: values that Apache may stumble over
    def res(kinds="abs abs abs new new pct pct2 npct part"):
        m, v = r.choice([1, 512, 1024, 2048, 4096, 65536, 1000000]), r.randint(1, 64); k = r.choice(kinds.split())
        return {"abs": pick("%d mb, %d vcores" % (m, v), "%d mb,%d vcores" % (m, v), "%dmb, %dvcores" % (m, v), "%d vcores, %d mb" % (v, m), "%d mb %d vcores" % (m, v), "%d MB, %d VCores" % (m, v), "%d.5 mb, %d.0 vcores" % (m, v)),
            "new": pick("memory-mb=%d, vcores=%d" % (m, v), "vcores=%d,memory-mb=%d" % (v, m), "vcores = %d , memory-mb = %d" % (v, m)), "part": pick("vcores=%d" % v, "memory-mb=%d" % m),
            "pct": "%d%%" % v if v % 2 else "%d.%d%%" % (v, v % 10), "pct2": pick("%d%% memory, %d%% cpu" % (v, 100 - v), "%d.5%% cpu, %d %% memory" % (v, v)), "npct": "memory-mb=%d%%, vcores=%d.5%%" % (v, v)}[k]
    wstyle = pick("int", "int", "int", "half", "big", "same") if percent and not risky else pick("int", "half", "any", "big", "same", "zero")
    def weight():
        if hit(0.06): return "0"
        return {"int": str(r.randint(1, 20)), "half": pick("0.5", "1.5", "2", "0.25", "3.75", "1"), "any": pick("0.1", "0.33", "2.7", "1.0", "12.345678", "1e-3", "7"), "big": str(r.randint(1, 10 ** r.randint(1, 7 if percent or risky else 4))), "same": "2.0", "zero": pick("0", "0.0", "1")}[wstyle]
    drf = hit(0.4); fields_p = r.choice([0.05, 0.15, 0.3]); acl = lambda: pick("*", " ", "al", "al,bo", "al,bo,cy,di g1", " g1", " g1,g2,g3", "al,bo g1,g2", "zoe,yan,xi,wu g9,g8,g7,g6")
    def policy_of(leaf, parent):
        ok = ["fair", "FAIR"] + (["drf", "DRF"] if parent == "drf" else []) + (["fifo", "fifo"] if leaf else [])
        return r.choice(["drf", "fifo", "fair"]) if risky and hit(0.1) else r.choice(ok)
    n = r.choice([r.randint(1, 6), r.randint(3, 20), r.randint(10, 60)]); kids = {0: []}; depth = {0: 0}
    for i in range(1, n + 1):
        p = r.choice([x for x in kids if depth[x] < 4] if hit(0.6) else [0]); kids[p].append(i); kids[i] = []; depth[i] = depth[p] + 1
    defpol = "drf" if drf and hit(0.7) else "fair"; rootpol = "drf" if drf and defpol == "fair" else defpol
    def queue(i, name, parent):
        ch = kids[i]; leaf = not ch and not hit(0.06); f = []; pol = None
        if hit(0.75): f.append((pick("weight"), weight()))
        if i == 0 and rootpol != defpol: pol = rootpol; f.append(("schedulingPolicy", pol))
        elif hit(0.3) or parent == "fair" and defpol == "drf" and not (risky and hit(0.1)): pol = policy_of(leaf, parent); f.append((pick("schedulingPolicy", "schedulingPolicy", "schedulingMode"), pol))
        P = lambda k=1.0: hit(fields_p * k)
        if P(): f.append(("maxResources", res()))
        if P(): f.append(("minResources", res("abs new part")) if not (risky and hit(0.1)) else ("minResources", "10%"))
        if P(0.7) and not leaf: f.append(("maxChildResources", res()))
        if P(): f.append(("maxRunningApps", r.randint(0, 50)))
        if P() and leaf: f.append(("maxAMShare", pick("0.1", "0.25", "0.5", "0.8", "1.0", "-1.0", "0", "0.333", "2")))
        if P(0.7): f.append(("maxContainerAllocation", pick("2048 mb, 2 vcores", "4096 mb, 4 vcores", "memory-mb=3000, vcores=3", *((["vcores=3", "90000 mb, 90 vcores"]) if risky else []))))
        if P(): f.append(("aclSubmitApps", acl()))
        if P(): f.append(("aclAdministerApps", acl()))
        if P(0.4): f.append((pick("aclAdministerReservations", "aclListReservations", "aclSubmitReservations"), acl()))
        if P(0.7): f.append(("allowPreemptionFrom", pick("true", "false", "false")))
        if P(0.4): f.append((pick("fairSharePreemptionTimeout", "minSharePreemptionTimeout"), r.randint(1, 99)))
        if P(0.3): f.append(("fairSharePreemptionThreshold", pick("0.2", "0.5", "1.4")))
        r.shuffle(f); inner = [tag(k, v) for k, v in f]
        if leaf and not any(k == "maxAMShare" for k, v in f) and P(0.3): inner.append("<reservation/>")
        used = set(); eff = pol.lower() if pol else defpol
        for c in ch:
            nm = r.choice(NAMES)
            while nm in used: nm += str(r.randint(0, 9))
            used.add(nm); inner.append(queue(c, nm, eff))
        return '%s<%s name="%s"%s>\n%s\n</%s>' % ("", (t := "pool" if hit(0.05) else "queue"), name, ' type="parent"' if not ch and not leaf else "", "\n".join(inner), t), inner
    def queue_(i, name, parent): return q0(i, name, parent)[0]
    q0 = queue; queue = queue_
    whole, inner = q0(0, "root", defpol); paths = ["root"]
    top = []
    if hit(0.5) or rootpol != defpol or hit(0.2): top.append(whole)
    else: top += [x for x in inner if x.startswith(("<queue", "<pool"))]
    if defpol == "drf" or hit(0.2): top.append(tag(pick("defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode"), pick(defpol, defpol.upper())))
    for k, v in [("queueMaxAppsDefault", r.randint(1, 60)), ("userMaxAppsDefault", r.randint(1, 60)), ("queueMaxAMShareDefault", pick("0.2", "0.5", "0.65", "1.0", "-1.0", "2.5")), ("queueMaxResourcesDefault", res()), ("defaultFairSharePreemptionTimeout", 30), ("defaultMinSharePreemptionTimeout", 40), ("defaultFairSharePreemptionThreshold", "0.7")]:
        if hit(0.14): top.append(tag(k, v))
    for u in ["al", "bo", "cy", "d.d"]:
        if hit(0.12): top.append(tag("user", tag("maxRunningApps", r.randint(0, 20)), name=u))
    if hit(0.6):
        names = [nm for nm in NAMES[:12]]; rules = []; C = lambda: pick(None, None, "true", "false", "false")
        def dq(c): return tag("rule", **{k: v for k, v in (("name", "default"), ("queue", pick(None, "root.default", "root." + r.choice(names), r.choice(names), "root.users.%s" % r.choice(names))), ("create", c)) if v})
        for _ in range(r.randint(0, 5)):
            k = r.choice(["specified", "user", "primaryGroup", "secondaryGroupExistingQueue", "nest", "nest", "default"]); c = "false" if hit(0.95) else None
            if k == "nest":
                pr = pick("primaryGroup", "secondaryGroupExistingQueue", "default", "default"); pc = pick(None, "true", "false"); cc = "false" if pc != "false" and pr != "secondaryGroupExistingQueue" and hit(0.95) else C()
                rules.append(rule(pick("nestedUserQueue", "nestedUserQueue", "user"), dq(pc) if pr == "default" else rule(pr, create=pc), cc))
            elif k == "default": rules.append(dq(c))
            else: rules.append(rule(k, create="true" if k == "specified" and hit(0.5) else c))
        rules.append(pick(rule("reject"), rule("reject", create="false"), dq(pick(None, "true")), rule("user"), rule("primaryGroup"), rule("nestedUserQueue", dq(None), "true"), rule("nestedUserQueue", rule("primaryGroup"))) if hit(0.97) else rule("specified"))
        top.append(policy(*rules))
    if spoil and hit(0.35): top.append(pick(policy(rule("lottery")), tag("queueMaxAppsDefault", "many"), tag("shade", "1"), "<queueMaxAMShareDefault/>", tag("defaultQueueSchedulingPolicy", "fifo"), q("dot.ted"), q("root"), q("m", maxResources="5 mb"), q("m", maxResources="gpu=2"), q("m", aclSubmitApps="")))
    r.shuffle(top); fair = alloc(*top)
    y = {}
    for k, p, v in [("preemption", .4, "true"), ("waitTimeBeforeKill", .2, r.randint(1000, 30000)), ("waitTimeBeforeNextStarvationCheck", .2, r.randint(1000, 30000)), ("continuous-scheduling-enabled", .25, "true"), ("continuous-scheduling-sleep-ms", .2, r.randint(1, 50)), ("sizebasedweight", .25, pick("true", "true", "false")), ("assignmultiple", .3, pick("true", "true", "false")), ("max.assign", .25, pick(-1, 1, 5, 20)), ("dynamic.max.assign", .2, pick("true", "false")), ("locality.threshold.node", .2, pick("0.5", "0", "-1", "1", "0.333")), ("locality.threshold.rack", .2, pick("0.7", "0.25", "-1.0", "1e-2")), ("locality-delay-node-ms", .08, 500), ("user-as-default-queue", .25, pick("true", "false", "false")), ("allow-undeclared-pools", .25, pick("true", "false", "false")), ("preemption.cluster-utilization-threshold", .1, "0.6"), ("update-interval-ms", .1, 700), ("reservable-nodes", .05, "0.2")]:
        if hit(p): y[F + k] = v
    for k, p, v in [("yarn.resourcemanager.reservation-system.enable", .12, "true"), ("yarn.scheduler.minimum-allocation-mb", .15, pick(128, 512, 1024)), ("yarn.scheduler.maximum-allocation-mb", .15, pick(8192, 16384)), ("yarn.scheduler.maximum-allocation-vcores", .1, pick(4, 32)), ("yarn.resourcemanager.scheduler.class", .3, "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"), ("yarn.acl.enable", .2, "true"), ("yarn.resourcemanager.hostname", .2, "h1")]:
        if hit(p): y[k] = v
    files = {"fair-scheduler.xml": fair, "out/": None}; A = ["-y", "{dir}/yarn-site.xml"]
    S, L = lambda s, l: A.append("-" + s if hit(0.75) else "--" + l), A.append
    if hit(0.85): S("f", "fsconfig"); L("{dir}/fair-scheduler.xml")
    else: y[F + "allocation.file"] = "{dir}/fair-scheduler.xml"
    out = pick(*"ooooooooppp", "op")
    if "o" in out: S("o", "output-directory"); L("{dir}/out")
    if "p" in out: S("p", "print")
    if percent: S("pc", "percentage")
    if hit(0.35):
        S("r", "rulesconfig"); L("{dir}/rules.properties")
        files["rules.properties"] = "".join("%s.action=%s\n" % (a, "abort" if hit(0.08) else pick("warning", "WARNING", "ignore")) for a in ACT if hit(0.5)) + ("maxChildQueue.limit=%s\n" % pick(1, 5, 20, 100) if hit(0.2) else "")
    if hit(0.3): S("c", "cluster-resource"); L(pick("memory-mb=81920,vcores=40", "81920 mb, 40 vcores", "vcores=9") if not (spoil and hit(0.2)) else "many")
    if hit(0.12): S("d", "dry-run")
    if hit(0.2): S("t", "no-terminal-rule-check")
    if hit(0.2): S("s", "skip-verification")
    if hit(0.12): S("sp", "skip-convert-placement-rules")
    if hit(0.25): S("a", "enable-async-scheduler")
    if hit(0.25): S("e", "rules-to-file")
    if hit(0.2): S("dp", "disable-preemption"); L(pick("nopolicy", "observeonly") if hit(0.92) else pick("none", "enabled", ""))
    files["yarn-site.xml"] = site(y)
    if spoil and hit(0.6):
        k = r.randint(0, 9)
        if k == 0: del files["fair-scheduler.xml"]
        elif k == 1: del files["yarn-site.xml"]
        elif k == 2: files["fair-scheduler.xml"] = fair[:len(fair) // 2]
        elif k == 3: files["yarn-site.xml"] = files["yarn-site.xml"][:-10]
        elif k == 4: files["fair-scheduler.xml"] = fair.replace("allocations>", "allocation>")
        elif k == 5: files[pick("out/yarn-site.xml", "out/capacity-scheduler.xml", "out/mapping-rules.json")] = site({})
        elif k == 6: A = [a.replace("{dir}/out", "{dir}/gone") for a in A]
        elif k == 7: A.append(pick("-x", "--nothing", "-f", "-h"))
        elif k == 8: A = A[2:]
        else: files["fair-scheduler.xml"] = ""
    return {"name": "seed-%d" % seed, "args": A, "files": files}
