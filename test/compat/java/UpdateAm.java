// An ApplicationMaster for UnmanagedAMLauncher that changes a running container in every way.
// argv: auto|master (who tells the node of larger sizes) or opportunistic|opportunistic-auto (execution types rather than sizes), the command to run. Prints one line for each change; exits 1 if one went wrong.
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

  static ExecutionType typeOnNode(Container c) throws Exception {
    return nm.getContainerStatus(c.getId(), c.getNodeId()).getExecutionType();
  }

  static boolean typeBecomes(Container c, ExecutionType want) throws Exception {
    for (int i = 0; i < 50 && typeOnNode(c) != want; i++) call();
    return typeOnNode(c) == want;
  }

  // Promotes or demotes, and has the node told of it by whom it must.
  static Container turn(Container c, ContainerUpdateType type, ExecutionType to, boolean silent) throws Exception {
    updated.clear();
    rm.requestContainerUpdate(c, UpdateContainerRequest.newInstance(c.getVersion(), c.getId(), type, null, to));
    for (int i = 0; i < 100 && updated.isEmpty(); i++) call();
    check(updated.size() == 1 && updated.get(0).getUpdateType() == type, type + " answered: " + updated.size());
    if (updated.isEmpty()) return c;
    Container now = updated.get(0).getContainer();
    check(now.getVersion() == c.getVersion() + 1 && now.getExecutionType() == to && now.getResource().equals(c.getResource()),
        "version " + now.getVersion() + ", " + now.getExecutionType() + " with " + now.getResource());
    if (auto) {
      check(typeBecomes(now, to), "the node has heard of " + to + " by itself");
      return now;
    }
    if (!silent) nm.updateContainerResource(now);
    if (silent && !typeBecomes(now, to)) { // by itself: in Apache's cluster it never does
      System.err.println("update seen: the node has not heard of " + to + " by itself");
      nm.updateContainerResource(now);
    }
    check(typeBecomes(now, to), "the node has " + to);
    return now;
  }

  static AMRMClient.ContainerRequest lent(int mb) {
    return AMRMClient.ContainerRequest.newBuilder().capability(Resource.newInstance(mb, 1)).priority(Priority.newInstance(2))
        .executionTypeRequest(ExecutionTypeRequest.newInstance(ExecutionType.OPPORTUNISTIC, true)).build();
  }

  static void opportunistic(String command) throws Exception {
    for (int i = 0; i < 3; i++) rm.addContainerRequest(lent(512));
    List<Container> got = new ArrayList<>();
    for (int i = 0; i < 50 && got.size() < 3; i++) got.addAll(call().getAllocatedContainers());
    check(got.size() == 3, got.size() + " of 3 opportunistic containers");
    Set<NodeId> nodes = new TreeSet<>();
    for (Container x : got) {
      nodes.add(x.getNodeId());
      check(x.getExecutionType() == ExecutionType.OPPORTUNISTIC && x.getVersion() == 0, x.getId() + " is " + x.getExecutionType() + " in version " + x.getVersion());
    }
    System.err.println("update seen: on " + nodes);
    Container c = got.get(0);
    nm.startContainer(c, ContainerLaunchContext.newInstance(null, new HashMap<>(), Collections.singletonList(command), null, null, null));
    for (int i = 0; i < 100 && nm.getContainerStatus(c.getId(), c.getNodeId()).getState() != ContainerState.RUNNING; i++) call();
    check(typeOnNode(c) == ExecutionType.OPPORTUNISTIC, "the node runs it as " + typeOnNode(c));
    c = turn(c, ContainerUpdateType.PROMOTE_EXECUTION_TYPE, ExecutionType.GUARANTEED, false);
    Container stale = Container.newInstance(c.getId(), c.getNodeId(), c.getNodeHttpAddress(), c.getResource(), c.getPriority(), c.getContainerToken(),
        ExecutionType.GUARANTEED); // in version 0
    refuse(UpdateContainerRequest.newInstance(0, c.getId(), ContainerUpdateType.DEMOTE_EXECUTION_TYPE, null, ExecutionType.OPPORTUNISTIC), stale,
        "INCORRECT_CONTAINER_VERSION_ERROR");
    c = turn(c, ContainerUpdateType.DEMOTE_EXECUTION_TYPE, ExecutionType.OPPORTUNISTIC, false);
    c = turn(c, ContainerUpdateType.PROMOTE_EXECUTION_TYPE, ExecutionType.GUARANTEED, false);
    c = turn(c, ContainerUpdateType.DEMOTE_EXECUTION_TYPE, ExecutionType.OPPORTUNISTIC, true);
    c = turn(c, ContainerUpdateType.PROMOTE_EXECUTION_TYPE, ExecutionType.GUARANTEED, false);
    // Two more of 4 GiB each: with the one above at most one of them fits on two nodes of 4 GiB.
    for (int i = 0; i < 2; i++) rm.addContainerRequest(lent(4096));
    List<Container> large = new ArrayList<>();
    for (int i = 0; i < 50 && large.size() < 2; i++) large.addAll(call().getAllocatedContainers());
    check(large.size() == 2, "opportunistic beyond what is free: " + large.size());
    for (Container x : large) {
      UpdateContainerRequest grow = UpdateContainerRequest.newInstance(0, x.getId(), ContainerUpdateType.PROMOTE_EXECUTION_TYPE, null, ExecutionType.GUARANTEED);
      updated.clear();
      rm.requestContainerUpdate(x, grow);
      for (int i = 0; i < 10; i++) call();
      System.err.println("update seen: promotions of 4 GiB: " + updated.size());
      if (!updated.isEmpty()) continue;
      refuse(grow, x, "UPDATE_OUTSTANDING_ERROR");
      break;
    }
    got.addAll(large);
    for (Container x : got) rm.releaseAssignedContainer(x.getId());
    Set<ContainerId> ended = new TreeSet<>();
    for (int i = 0; i < 50 && ended.size() < 5; i++) {
      AllocateResponse r = call();
      for (ContainerStatus s : r.getCompletedContainersStatuses()) ended.add(s.getContainerId());
      for (Container x : r.getAllocatedContainers()) System.err.println("update seen: granted besides " + x);
    }
    check(ended.size() == 5, "ends heard of: " + ended.size());
  }

  public static void main(String[] a) throws Exception {
    auto = a[0].endsWith("auto");
    Configuration conf = new YarnConfiguration();
    rm = AMRMClient.createAMRMClient();
    rm.init(conf); rm.start();
    nm = NMClient.createNMClient();
    nm.init(conf); nm.start();
    rm.registerApplicationMaster("127.0.0.1", -1, "");
    if (a[0].startsWith("opportunistic")) {
      opportunistic(a[1]);
    } else {
      sizes(a[1]);
    }
    rm.unregisterApplicationMaster(good ? FinalApplicationStatus.SUCCEEDED : FinalApplicationStatus.FAILED, "", "");
    rm.stop(); nm.stop();
    System.exit(good ? 0 : 1);
  }

  static void sizes(String command) throws Exception {
    rm.addContainerRequest(new AMRMClient.ContainerRequest(Resource.newInstance(512, 1), null, null, Priority.newInstance(1)));
    Container c = null;
    for (int i = 0; i < 300 && c == null; i++) {
      for (Container x : call().getAllocatedContainers()) c = x;
    }
    nm.startContainer(c, ContainerLaunchContext.newInstance(null, new HashMap<>(), Collections.singletonList(command), null, null, null));
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
  }
}
