// Plays a script against a ResourceManager with the stock client and prints what it answered, without what differs from run to run.
// java -cp 'CONF:LIB/*' Admission.java SCRIPT
//
//   submit NAME USER QUEUE [name=N] [memory=MB] [priority=P] [lifetime=SECONDS] [tags=A,B]   QUEUE "-": none is asked for
//   kill|report NAME USER      move NAME USER QUEUE      priority NAME USER P      lifetime NAME USER SECONDS
//   acls USER                  queue USER QUEUE          wait NAME STATE           # a comment
import java.nio.file.*;
import java.security.PrivilegedExceptionAction;
import java.time.*;
import java.util.*;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.UpdateApplicationTimeoutsRequest;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.client.api.*;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.util.Records;
import org.apache.hadoop.yarn.util.Times;

public class Admission {
  static final Map<String, YarnClient> clients = new HashMap<>();
  static final Map<String, ApplicationId> apps = new LinkedHashMap<>();

  static YarnClient as(String user) throws Exception {
    YarnClient c = clients.get(user);
    if (c == null) {
      c = UserGroupInformation.createRemoteUser(user).doAs((PrivilegedExceptionAction<YarnClient>) () -> {
        YarnClient n = YarnClient.createYarnClient();
        n.init(new YarnConfiguration());
        n.start();
        return n;
      });
      clients.put(user, c);
    }
    return c;
  }

  // What is the same in every run: applications by their names here, no times, no stack traces.
  static String steady(String s) {
    if (s == null) return "";
    int trace = s.indexOf("\n\tat ");
    if (trace >= 0) s = s.substring(0, trace);
    for (var e : apps.entrySet()) s = s.replace(e.getValue().toString(), "<" + e.getKey() + ">");
    return s.replaceAll("application_\\d+_\\d+", "<application>").replaceAll("127\\.0\\.0\\.1:\\d+|localhost:\\d+", "<address>")
        .replaceAll("\\[[A-Z][a-z]{2} [A-Z][a-z]{2} \\d\\d [^\\]]*\\]", "<time>").replaceAll("\\d{4}-\\d\\d-\\d\\dT[0-9:.]+[+-]\\d{4}", "<time>").strip().replace("\n", "\n  ");
  }

  static void report(String user, String name) throws Exception {
    ApplicationReport r = as(user).getApplicationReport(apps.get(name));
    String left = "";
    for (ApplicationTimeout t : r.getApplicationTimeouts().values()) {
      left += " " + t.getTimeoutType() + (t.getRemainingTime() < 0 ? "=unlimited" : t.getRemainingTime() == 0 ? "=over" : "<=" + (t.getRemainingTime() + 99) / 100 * 100);
    }
    System.out.printf("  %s %s queue=%s user=%s priority=%s%s%n", r.getYarnApplicationState(), r.getFinalApplicationStatus(), r.getQueue(), r.getUser(), r.getPriority(), left);
    if (!r.getApplicationTags().isEmpty()) System.out.println("  tags " + new TreeSet<>(r.getApplicationTags()));
    // Why an application waits comes a little later than its state.
    String d = r.getYarnApplicationState() == YarnApplicationState.ACCEPTED ? "" : steady(r.getDiagnostics());
    if (!d.isEmpty()) System.out.println("  " + d);
  }

  static void submit(String name, String user, String queue, Map<String, String> o) throws Exception {
    YarnClient c = as(user);
    YarnClientApplication n = c.createApplication();
    ApplicationSubmissionContext x = n.getApplicationSubmissionContext();
    apps.put(name, x.getApplicationId());
    x.setApplicationName(o.getOrDefault("name", name));
    if (!queue.equals("-")) x.setQueue(queue);
    x.setResource(Resource.newInstance(Integer.parseInt(o.getOrDefault("memory", "512")), 1));
    x.setAMContainerSpec(ContainerLaunchContext.newInstance(Map.of(), Map.of(), List.of("true"), null, null, null));
    if (o.containsKey("priority")) x.setPriority(Priority.newInstance(Integer.parseInt(o.get("priority"))));
    if (o.containsKey("tags")) x.setApplicationTags(Set.of(o.get("tags").split(",")));
    if (o.containsKey("lifetime")) x.setApplicationTimeouts(Map.of(ApplicationTimeoutType.LIFETIME, Long.parseLong(o.get("lifetime"))));
    try {
      c.submitApplication(x);
    } finally {
      // A submission that was refused for what it asks leaves nothing to report.
      try { report(user, name); } catch (Exception e) { System.out.println("  no report: " + e.getClass().getName()); }
    }
  }

  static void play(String[] w) throws Exception {
    switch (w[0]) {
      case "submit": {
        Map<String, String> o = new HashMap<>();
        for (int i = 4; i < w.length; i++) { String[] p = w[i].split("=", 2); o.put(p[0], p[1]); }
        submit(w[1], w[2], w[3], o);
        break;
      }
      case "report": report(w[2], w[1]); break;
      case "kill": as(w[2]).killApplication(apps.get(w[1])); report(w[2], w[1]); break;
      case "move": as(w[2]).moveApplicationAcrossQueues(apps.get(w[1]), w[3]); report(w[2], w[1]); break;
      case "priority": as(w[2]).updateApplicationPriority(apps.get(w[1]), Priority.newInstance(Integer.parseInt(w[3]))); report(w[2], w[1]); break;
      case "lifetime": {
        String until = Times.formatISO8601(System.currentTimeMillis() + Long.parseLong(w[3]) * 1000);
        as(w[2]).updateApplicationTimeouts(UpdateApplicationTimeoutsRequest.newInstance(apps.get(w[1]), Map.of(ApplicationTimeoutType.LIFETIME, until)));
        report(w[2], w[1]);
        break;
      }
      case "acls":
        for (QueueUserACLInfo i : as(w[1]).getQueueAclsInfo()) System.out.println("  " + i.getQueueName() + " " + new TreeSet<>(i.getUserAcls()));
        break;
      case "queue": {
        QueueInfo q = as(w[1]).getQueueInfo(w[2]);
        System.out.println("  " + (q == null ? "no queue" : q.getQueuePath() + " " + q.getQueueState()));
        break;
      }
      case "wait":
        for (int i = 0; i < 200 && !as("root").getApplicationReport(apps.get(w[1])).getYarnApplicationState().name().equals(w[2]); i++) Thread.sleep(100);
        report("root", w[1]);
        break;
      default: throw new IllegalArgumentException(w[0]);
    }
  }

  public static void main(String[] a) throws Exception {
    for (String line : Files.readAllLines(Path.of(a[0]))) {
      if (line.isBlank() || line.startsWith("#")) { System.out.println(line); continue; }
      System.out.println(line);
      try {
        play(line.trim().split("\\s+"));
      } catch (Exception e) {
        Throwable t = e instanceof java.lang.reflect.UndeclaredThrowableException && e.getCause() != null ? e.getCause() : e;
        System.out.println("  " + t.getClass().getName() + ": " + steady(t.getMessage()));
      }
    }
    System.exit(0);
  }
}
