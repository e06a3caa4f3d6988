package parity;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Everything at once and for longer: masters and nodes that are lost, moves, limits, changes of mode under way. */
final class WildProfile {
  private static final String DRF = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";

  private WildProfile() {}

  /** The same with changes of priority, also of those who wait for max-parallel-apps. */
  static void priorities(Scenario s) {
    wild(s);
    s.appPriority = 5;
    s.site.put("yarn.cluster.max-application-priority", s.pick(3, 5, 10));
    s.act("priority", 6);
  }

  static void wild(Scenario s) {
    boolean labels = s.chance(0.3);
    if (s.chance(0.35)) {
      s.extraTypes.add("yarn.io/gpu");
      s.cs("resource-calculator", DRF);
      s.cs.put("yarn.resource-types", "yarn.io/gpu"); // a refresh would not find it elsewhere
    }
    MixedProfile.mixed(s, labels);
    parallel(s);
    s.actions.remove("priority");
    s.events = 250 + s.r.nextInt(350);
    s.maxLiveApps = 25;
    s.masterEnds = s.pick(0.01, 0.03, 0.1);
    s.unevenSizes = 0.3;
    s.act("node-add", 4, "node-remove", 3, "node-resource", 2, "move", 7, "kill", 4, "finish", 5, "submit", 14, "update", 9,
        "release", 3, "acquire", 10);
    if (labels) {
      s.act("node-label", 5);
      return;
    }
    s.act("refresh", 4, "queues", 4);
    s.refresh = () -> {
      Map<String, Object> next = new LinkedHashMap<>(s.cs);
      if (s.chance(0.5)) {
        change(s, next);
      } else {
        Refresh.change(s, next);
      }
      return next;
    };
  }

  private static void parallel(Scenario s) {
    if (s.chance(0.5)) {
      s.cs("user.max-parallel-apps", s.pick(1, 2, 3));
    }
    for (String q : s.parents(s.cs)) {
      if (s.chance(0.3)) {
        s.cs(q + ".max-parallel-apps", s.pick(1, 2, 4, 8));
      }
    }
    for (String q : s.leaves(s.cs)) {
      if (s.chance(0.4)) {
        s.cs(q + ".max-parallel-apps", s.pick(1, 2, 3));
      }
    }
  }

  private static void change(Scenario s, Map<String, Object> conf) {
    String leaf = Scenario.CS + s.pick(s.leaves(conf));
    switch (s.r.nextInt(5)) {
      case 0 -> conf.put(Scenario.CS + "legacy-queue-mode.enabled", s.chance(0.5));
      case 1 -> {
        conf.put(Scenario.CS + "legacy-queue-mode.enabled", s.chance(0.3));
        String p = s.pick(s.parents(conf));
        for (String c : s.children(conf, p)) {
          conf.put(Scenario.CS + p + "." + c + ".capacity",
              s.pick("1w", "3w", "20", "50", "[memory=4096,vcores=4]", "[memory=25%,vcores=2w]"));
        }
      }
      case 2 -> conf.put(Scenario.CS + "user.max-parallel-apps", s.pick(1, 2, 5));
      case 3 -> conf.put(leaf + ".max-parallel-apps", s.pick(0, 1, 2, 5));
      default -> {
        List<String> types = List.of("memory-mb=" + s.maxMb, "vcores=" + s.maxCores, "yarn.io/gpu=4");
        conf.put(leaf + ".maximum-allocation", String.join(",", types.subList(0, s.pick(1, 2, 2 + s.extraTypes.size()))));
      }
    }
  }
}
