// An ApplicationMaster for UnmanagedAMLauncher that changes a running container in every way.
// argv: auto|master (who tells the node of larger sizes), the command to run. Prints one line for each change; exits 1 if one went wrong.
import java.util.*;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.client.api.*;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

public class UpdateAm {
  static AMRMClient<AMRMClient.ContainerRequest> rm;
  static NMClient nm;
  static boolean auto;
  static boolean good = true;
  static final List<UpdatedContainer> updated = new ArrayList<>();
  static final List<UpdateContainerError> refused = new ArrayList<>();

  static AllocateResponse call() throws Exception {
    AllocateResponse r = rm.allocate(0.5f);
    updated.addAll(r.getUpdatedContainers());
    refused.addAll(r.getUpdateErrors());
    Thread.sleep(200);
    return r;
  }

  static void check(boolean ok, String what) {
    System.err.println((ok ? "update ok: " : "update WRONG: ") + what);
    good &= ok;
  }

  static long onNode(Container c) throws Exception {
    return nm.getContainerStatus(c.getId(), c.getNodeId()).getCapability().getMemorySize();
  }

  // Asks for a change, waits for the answer, has the node told where the master must, and waits until the node has the size.
  static Container change(Container c, ContainerUpdateType type, int mb) throws Exception {
    updated.clear();
    rm.requestContainerUpdate(c, UpdateContainerRequest.newInstance(c.getVersion(), c.getId(), type, Resource.newInstance(mb, 1), null));
    for (int i = 0; i < 100 && updated.isEmpty(); i++) call();
    check(updated.size() == 1 && updated.get(0).getUpdateType() == type, type + " to " + mb + " answered: " + updated.size());
    if (updated.isEmpty()) return c;
    Container now = updated.get(0).getContainer();
    check(now.getVersion() == c.getVersion() + 1 && now.getResource().getMemorySize() == mb, "version " + now.getVersion() + " with " + now.getResource());
    if (type == ContainerUpdateType.INCREASE_RESOURCE && !auto) nm.updateContainerResource(now);
    long has = 0;
    for (int i = 0; i < 60 && (has = onNode(now)) != mb; i++) call();
    check(has == mb, "the node has " + has);
    return now;
  }

  static void refuse(UpdateContainerRequest u, Container c, String why) throws Exception {
    refused.clear();
    rm.requestContainerUpdate(c, u);
    for (int i = 0; i < 50 && refused.isEmpty(); i++) call();
    check(refused.size() == 1 && refused.get(0).getReason().equals(why), why + ": " + refused);
  }

  public static void main(String[] a) throws Exception {
    auto = a[0].equals("auto");
    Configuration conf = new YarnConfiguration();
    rm = AMRMClient.createAMRMClient();
    rm.init(conf); rm.start();
    nm = NMClient.createNMClient();
    nm.init(conf); nm.start();
    rm.registerApplicationMaster("127.0.0.1", -1, "");
    rm.addContainerRequest(new AMRMClient.ContainerRequest(Resource.newInstance(512, 1), null, null, Priority.newInstance(1)));
    Container c = null;
    for (int i = 0; i < 300 && c == null; i++) {
      for (Container x : call().getAllocatedContainers()) c = x;
    }
    nm.startContainer(c, ContainerLaunchContext.newInstance(null, new HashMap<>(), Collections.singletonList(a[1]), null, null, null));
    for (int i = 0; i < 100 && nm.getContainerStatus(c.getId(), c.getNodeId()).getState() != ContainerState.RUNNING; i++) call();
    Container old = c;
    c = change(c, ContainerUpdateType.DECREASE_RESOURCE, 256);
    c = change(c, ContainerUpdateType.INCREASE_RESOURCE, 1024);
    refuse(UpdateContainerRequest.newInstance(old.getVersion(), c.getId(), ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(256, 1), null), old,
        "INCORRECT_CONTAINER_VERSION_ERROR");
    refuse(UpdateContainerRequest.newInstance(c.getVersion(), c.getId(), ContainerUpdateType.INCREASE_RESOURCE, Resource.newInstance(1 << 20, 1), null), c,
        "RESOURCE_OUTSIDE_ALLOWED_RANGE");
    ContainerId none = ContainerId.newContainerId(c.getId().getApplicationAttemptId(), 4711);
    refuse(UpdateContainerRequest.newInstance(0, none, ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(256, 1), null),
        Container.newInstance(none, c.getNodeId(), c.getNodeHttpAddress(), c.getResource(), c.getPriority(), c.getContainerToken()), "INVALID_CONTAINER_ID");
    c = change(c, ContainerUpdateType.DECREASE_RESOURCE, 512);
    rm.releaseAssignedContainer(c.getId());
    call();
    rm.unregisterApplicationMaster(good ? FinalApplicationStatus.SUCCEEDED : FinalApplicationStatus.FAILED, "", "");
    rm.stop(); nm.stop();
    System.exit(good ? 0 : 1);
  }
}
