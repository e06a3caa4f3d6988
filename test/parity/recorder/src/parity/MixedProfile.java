package parity;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the other profiles exercise one by one, thrown together, and settings that nobody should want. */
final class MixedProfile {
  private MixedProfile() {}

  static void mixed(Scenario s) {
    mixed(s, s.chance(0.25));
  }

  static void mixed(Scenario s, boolean labels) {
    s.users = List.of("ann", "bob", "cid", "dan");
    if (labels) {
      CapacityProfiles.labels(s);
    } else {
      s.tree(1 + s.r.nextInt(3));
    }
    if (s.chance(0.5)) {
      CapacityProfiles.limitUsers(s);
    }
    if (s.chance(0.4)) {
      locality(s);
    }
    if (s.chance(0.4)) {
      s.maxMb = s.nodeMb;
      s.site.put("yarn.scheduler.maximum-allocation-mb", s.maxMb);
      s.big = s.pick(0.15, 0.3, 0.45);
      s.cs("reservations-continue-look-all-nodes", s.chance(0.5));
    }
    if (s.chance(0.4)) {
      limitApplications(s);
    }
    if (s.chance(0.5)) {
      priorities(s);
    }
    strangeLeaves(s);
    events(s, labels);
    if (!labels && s.chance(0.2)) {
      CapacityProfiles.weights(s, s.chance(0.5));
    } else if (!labels && s.chance(0.15)) {
      s.cs("legacy-queue-mode.enabled", false);
    }
  }

  private static void locality(Scenario s) {
    s.racks = s.pick(1, 2, 3);
    s.cs("rack-locality-additional-delay", s.pick(-1, -1, 0, 1, 3));
    s.cs("rack-locality-full-reset", s.chance(0.5));
    s.cs("node-locality-delay", s.pick(-1, 0, 1, 2, 4, 8));
    s.local = s.pick(0.2, 0.5);
    s.strict = 0.2;
    s.blacklist = 0.08;
  }

  private static void limitApplications(Scenario s) {
    if (s.chance(0.4)) {
      s.cs("maximum-am-resource-percent", s.pick("0.1", "0.2", "0.3"));
    }
    if (s.chance(0.4)) {
      s.cs("max-parallel-apps", s.pick(2, 3, 5));
    }
    if (s.chance(0.4)) {
      s.cs("user.max-parallel-apps", s.pick(1, 2, 3));
    }
    for (String q : s.leaves(s.cs)) {
      if (s.chance(0.2)) {
        s.cs(q + ".max-parallel-apps", s.pick(0, 1, 2));
      }
      if (s.chance(0.2)) {
        s.cs(q + ".maximum-applications", s.pick(1, 2, 4));
      }
    }
    s.maxLiveApps = 25;
  }

  private static void priorities(Scenario s) {
    s.appPriority = 5;
    s.site.put("yarn.cluster.max-application-priority", s.pick(3, 5, 10));
    for (String p : s.parents(s.cs)) {
      s.cs(p + ".ordering-policy", s.pick("utilization", "priority-utilization", "priority-utilization"));
      for (String c : s.children(s.cs, p)) {
        if (s.chance(0.6)) {
          s.cs(p + "." + c + ".priority", s.pick(-1, 0, 1, 2, 5));
        }
      }
    }
    s.act("priority", 5);
  }

  private static void strangeLeaves(Scenario s) {
    for (String q : s.leaves(s.cs)) {
      if (s.chance(0.5)) {
        s.cs(q + ".ordering-policy", s.pick("fifo", "fair", "fair", "fifo-for-pending-apps"));
        if ("fair".equals(s.cs(q + ".ordering-policy")) && s.chance(0.5)) {
          s.cs(q + ".ordering-policy.fair.enable-size-based-weight", true);
        }
      }
      if (s.chance(0.1)) {
        s.cs(q + ".maximum-capacity", s.pick(-1, 0, 1));
      }
      if (s.chance(0.1)) {
        s.cs(q + ".maximum-allocation-mb", s.minMb * 4);
      }
    }
  }

  private static void events(Scenario s, boolean labels) {
    if (s.chance(0.4)) {
      s.act("node-add", 3, "node-remove", 2, "node-resource", 3);
    }
    if (s.chance(0.5)) {
      s.act("move", 6, "kill", 4, "finish", 5, "submit", 12);
      s.queues.add("root");
    }
    if (s.chance(0.4) && !labels) { // labels are on in memory alone, and a refresh would not find them
      s.act("refresh", 5, "submit", 12, "finish", 6, "kill", 2, "queues", 5);
      s.refresh = () -> {
        Map<String, Object> next = new LinkedHashMap<>(s.cs);
        Refresh.change(s, next);
        return next;
      };
    }
    if (s.chance(0.25)) {
      s.act("update", 12);
    }
  }
}
