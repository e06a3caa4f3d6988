// An ApplicationMaster that runs outside the cluster, for UnmanagedAMLauncher: containers with resources of a file system that
// needs Hadoop's jars.
// argv: URL of a directory with greeting.txt, notice.txt and tools.tar.gz, file that the container writes what it has read to.
// Prints "missing: <exit status> <diagnostics>" of a container that wants what is not there.
import java.util.*;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.*;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.api.records.URL;
import org.apache.hadoop.yarn.client.api.*;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

public class Foreign {
  static LocalResource resource(Configuration conf, Path at, Path like, LocalResourceType type, LocalResourceVisibility who) throws Exception {
    FileStatus s = like.getFileSystem(conf).getFileStatus(like);
    return LocalResource.newInstance(URL.fromPath(at), type, who, s.getLen(), s.getModificationTime());
  }

  public static void main(String[] a) throws Exception {
    Configuration conf = new YarnConfiguration();
    Path file = new Path(a[0], "greeting.txt"), notice = new Path(a[0], "notice.txt"), pack = new Path(a[0], "tools.tar.gz"), absent = new Path(a[0], "absent.txt");
    Map<String, LocalResource> good = new HashMap<>(), bad = new HashMap<>();
    good.put("own", resource(conf, file, file, LocalResourceType.FILE, LocalResourceVisibility.APPLICATION));
    good.put("tools", resource(conf, pack, pack, LocalResourceType.ARCHIVE, LocalResourceVisibility.PRIVATE));
    good.put("everybodys", resource(conf, notice, notice, LocalResourceType.FILE, LocalResourceVisibility.PUBLIC));
    bad.put("absent", resource(conf, absent, file, LocalResourceType.FILE, LocalResourceVisibility.PRIVATE));
    AMRMClient<AMRMClient.ContainerRequest> rm = AMRMClient.createAMRMClient();
    rm.init(conf); rm.start();
    NMClient nm = NMClient.createNMClient();
    nm.init(conf); nm.start();
    rm.registerApplicationMaster("127.0.0.1", -1, "");
    for (int i = 0; i < 2; i++) {
      rm.addContainerRequest(new AMRMClient.ContainerRequest(Resource.newInstance(256, 1), null, null, Priority.newInstance(1)));
    }
    ContainerId missing = null;
    int started = 0, done = 0, failed = 0;
    long end = System.currentTimeMillis() + 120_000;
    while (done < 2 && System.currentTimeMillis() < end) {
      AllocateResponse r = rm.allocate(done / 2f);
      for (Container c : r.getAllocatedContainers()) {
        if (started == 2) { rm.releaseAssignedContainer(c.getId()); continue; }
        boolean second = ++started == 2;
        if (second) missing = c.getId();
        nm.startContainer(c, ContainerLaunchContext.newInstance(second ? bad : good, new HashMap<>(),
            Collections.singletonList("cat own tools/inside everybodys > " + a[1]), null, null, null));
      }
      for (ContainerStatus s : r.getCompletedContainersStatuses()) {
        if (s.getExitStatus() == ContainerExitStatus.ABORTED) continue; // released
        done++;
        if (s.getContainerId().equals(missing)) {
          System.out.println("missing: " + s.getExitStatus() + " " + s.getDiagnostics().replace('\n', '|'));
        } else if (s.getExitStatus() != 0) { failed++; System.out.println("failed: " + s); }
      }
      Thread.sleep(200);
    }
    boolean ok = done == 2 && failed == 0;
    rm.unregisterApplicationMaster(ok ? FinalApplicationStatus.SUCCEEDED : FinalApplicationStatus.FAILED, done + " done", "");
    rm.stop(); nm.stop();
    System.exit(ok ? 0 : 1);
  }
}
