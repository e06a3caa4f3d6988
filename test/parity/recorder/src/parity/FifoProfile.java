package parity;

import java.util.List;

/** Scenarios for the FifoScheduler, with what it has and with what it lacks. */
final class FifoProfile {
  private FifoProfile() {}

  static void fifo(Scenario s) {
    s.queues.addAll(List.of("default", "root.default", "nowhere"));
    s.specified = 0.6;
    s.racks = s.pick(1, 2, 3);
    s.nodes = s.pick(2, 3, 4, 6, 9);
    s.local = s.pick(0.2, 0.6, 0.8);
    s.strict = 0.2;
    s.unevenSizes = s.pick(0.0, 0.15);
    s.blacklist = 0.08;
    s.askPriorities = s.pick(1, 3, 4);
    s.appPriority = s.pick(0, 3);
    s.maxCount = s.pick(4, 8, 14);
    s.big = 0.05;
    s.masterEnds = 0.02;
    s.events = 90 + s.r.nextInt(160);
    if (s.chance(0.25)) {
      s.extraTypes.add("yarn.io/gpu");
    }
    if (s.chance(0.25)) {
      s.site.put("yarn.node-labels.enabled", true);
      s.labels.put("x", true);
      s.labels.put("y", false);
      s.act("node-label", 2);
    }
    if (s.chance(0.25)) {
      s.site.put("yarn.resourcemanager.am.max-attempts", 1);
    }
    s.act("submit", 10, "ask", 20, "acquire", 16, "release", 4, "finish", 4, "kill", 2, "move", 1, "priority", 2, "update", 4,
        "refresh", 1, "node-add", 2, "node-remove", 1, "node-resource", 3);
  }
}
