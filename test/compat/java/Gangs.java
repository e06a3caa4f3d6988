// Applications with masters in this process, by the stock client, each of which asks for one gang.
// argv: MiB of a container, containers of a gang, timeout in seconds, how long (s) each keeps its gang, then the queues, one for each application.
// Prints one line for each check; exits 1 if one went wrong.
import java.security.PrivilegedExceptionAction;
import java.util.*;
import java.util.concurrent.*;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.client.api.*;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

public class Gangs {
  static final Configuration conf = new YarnConfiguration();
  static YarnClient client;
  static int mb, size, timeout, keep;
  static volatile boolean good = true;
  static final long begin = System.currentTimeMillis();

  static synchronized void check(boolean ok, String what) {
    System.err.println((ok ? "gang ok: " : "gang WRONG: ") + what);
    good &= ok;
  }

  static ApplicationId submit(String queue, String... tags) throws Exception {
    ApplicationSubmissionContext c = client.createApplication().getApplicationSubmissionContext();
    c.setApplicationName("heddle-gang");
    c.setQueue(queue);
    c.setUnmanagedAM(true);
    c.setAMContainerSpec(ContainerLaunchContext.newInstance(null, null, null, null, null, null));
    c.setApplicationTags(new HashSet<>(Arrays.asList(tags)));
    return client.submitApplication(c);
  }

  static void refused(String tag) {
    try {
      check(false, tag + " was taken: " + submit("root.a", tag));
    } catch (Exception e) {
      check(e.getMessage().contains("heddle.gang=N"), tag + " is refused: " + e.getMessage());
    }
  }

  static void run(String queue) throws Exception {
    ApplicationId id = submit(queue, "heddle.gang=" + size + ",timeout=" + timeout + "s", "other");
    System.err.println("submitted " + id);
    org.apache.hadoop.security.token.Token<?> token = null;
    for (int i = 0; i < 100 && token == null; i++) {
      Thread.sleep(100);
      token = client.getAMRMToken(id);
    }
    UserGroupInformation who = UserGroupInformation.createRemoteUser(UserGroupInformation.getCurrentUser().getShortUserName());
    who.addToken(token);
    who.doAs((PrivilegedExceptionAction<Void>) () -> { master(id); return null; });
  }

  static void master(ApplicationId id) throws Exception {
    AMRMClient<AMRMClient.ContainerRequest> rm = AMRMClient.createAMRMClient();
    rm.init(conf); rm.start();
    rm.registerApplicationMaster("127.0.0.1", -1, "");
    for (int i = 0; i < size + 1; i++) rm.addContainerRequest(new AMRMClient.ContainerRequest(Resource.newInstance(mb, 1), null, null, Priority.newInstance(7)));
    List<Container> got = new ArrayList<>();
    int ended = 0;
    long since = 0;
    for (long end = System.currentTimeMillis() + 200_000; System.currentTimeMillis() < end; Thread.sleep(200)) {
      AllocateResponse r = rm.allocate(0.5f);
      ended += r.getCompletedContainersStatuses().size();
      if (since == 0 && !r.getAllocatedContainers().isEmpty()) {
        since = System.currentTimeMillis();
        check(r.getAllocatedContainers().size() >= size, id + " after " + (since - begin) + " ms: first of all " + r.getAllocatedContainers().size() + " containers");
      }
      got.addAll(r.getAllocatedContainers());
      if (since > 0 && System.currentTimeMillis() > since + keep * 1000L) break;
    }
    check(since > 0, id + " got its gang");
    check(ended == 0, id + " heard of " + ended + " ends of containers that it did not have");
    for (Container c : got) rm.releaseAssignedContainer(c.getId());
    rm.allocate(1f);
    rm.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
    rm.stop();
  }

  public static void main(String[] a) throws Exception {
    mb = Integer.parseInt(a[0]);
    size = Integer.parseInt(a[1]);
    timeout = Integer.parseInt(a[2]);
    keep = Integer.parseInt(a[3]);
    client = YarnClient.createYarnClient();
    client.init(conf);
    client.start();
    refused("heddle.gang=many");
    refused("heddle.gnag=4");
    List<String> queues = Arrays.asList(a).subList(4, a.length);
    ExecutorService all = Executors.newFixedThreadPool(queues.size());
    List<Future<?>> ends = new ArrayList<>();
    for (String q : queues) ends.add(all.submit(() -> { run(q); return null; }));
    for (Future<?> f : ends) f.get();
    System.exit(good ? 0 : 1);
  }
}
