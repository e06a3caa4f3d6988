// An ApplicationMaster for UnmanagedAMLauncher that changes a running container in every way.
// argv: auto|master (who tells the node of larger sizes) or opportunistic|opportunistic-auto (execution types rather than sizes) or unused (increases that it does not use) or restart (of the ResourceManager meanwhile), the command to run. Prints one line for each change; exits 1 if one went wrong.
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
    } else if (a[0].equals("unused")) {
      unused(a[1]);
    } else if (a[0].equals("restart")) {
      restart(a[1]);
    } else {
      sizes(a[1]);
    }
    rm.unregisterApplicationMaster(good ? FinalApplicationStatus.SUCCEEDED : FinalApplicationStatus.FAILED, "", "");
    rm.stop(); nm.stop();
    System.exit(good ? 0 : 1);
  }

  // Asks for a size and fetches the token for it.
  static Container fetch(Container c, int mb) throws Exception {
    updated.clear();
    rm.requestContainerUpdate(c, UpdateContainerRequest.newInstance(c.getVersion(), c.getId(), ContainerUpdateType.INCREASE_RESOURCE, Resource.newInstance(mb, 1), null));
    for (int i = 0; i < 100 && updated.isEmpty(); i++) call();
    check(updated.size() == 1 && updated.get(0).getContainer().getResource().getMemorySize() == mb, "an increase to " + mb + " answered: " + updated.size() + " " + refused);
    Container now = updated.get(0).getContainer();
    updated.clear();
    return now;
  }

  static long usedMb(long want) throws Exception {
    Configuration conf = new YarnConfiguration();
    YarnClient client = YarnClient.createYarnClient();
    client.init(conf); client.start();
    long used = -1;
    for (int i = 0; i < 50 && used != want; i++) {
      used = 0;
      for (NodeReport n : client.getNodeReports(NodeState.RUNNING)) used += n.getUsed().getMemorySize();
      call();
    }
    client.stop();
    return used;
  }

  static void unused(String command) throws Exception {
    Container c = start(command);
    Container grown = fetch(c, 1024);
    long used = usedMb(1024);
    check(used == 1024, used + " MB are in use");
    long began = System.currentTimeMillis();
    for (int i = 0; i < 150 && updated.isEmpty(); i++) call();
    check(updated.size() == 1 && updated.get(0).getUpdateType() == ContainerUpdateType.DECREASE_RESOURCE, "an increase that is not used is taken back: " + updated.size());
    System.err.println("update seen: taken back after " + (System.currentTimeMillis() - began) + " ms");
    if (updated.isEmpty()) return;
    Container back = updated.get(0).getContainer();
    updated.clear();
    check(back.getVersion() == grown.getVersion() + 1 && back.getResource().getMemorySize() == 512, "version " + back.getVersion() + " with " + back.getResource());
    used = usedMb(512);
    check(used == 512, used + " MB are in use");
    for (int i = 0; i < 12; i++) call(); // the node has heard of it by then
    boolean refused = false;
    try {
      nm.updateContainerResource(grown);
    } catch (Exception e) {
      refused = true;
      System.err.println("update seen: " + e.getMessage());
    }
    check(refused && onNode(c) == 512, "the old token is refused, and the node has " + onNode(c));
    // One that is used stays, and so does the used one of two.
    c = fetch(back, 768);
    nm.updateContainerResource(c);
    for (int i = 0; i < 60 && onNode(c) != 768; i++) call();
    Container more = fetch(c, 1024);
    for (int i = 0; i < 150 && updated.isEmpty(); i++) call();
    check(updated.size() == 1 && updated.get(0).getContainer().getResource().getMemorySize() == 768, "of two increases the one that is used stays: " + updated);
    check(onNode(c) == 768, "the node has " + onNode(c));
    if (!updated.isEmpty()) c = updated.get(0).getContainer();
    check(c.getVersion() == more.getVersion() + 1, "version " + c.getVersion());
    c = change(c, ContainerUpdateType.INCREASE_RESOURCE, 1024);
    updated.clear();
    for (int i = 0; i < 75; i++) call();
    check(updated.isEmpty() && onNode(c) == 1024, "what is used is not taken back, the node has " + onNode(c));
    rm.releaseAssignedContainer(c.getId());
    call();
  }

  // Waits until the ResourceManager was killed and started again, and the nodes are back with so much in use.
  static void killed(long mb) throws Exception {
    java.io.File file = new java.io.File("kill");
    file.createNewFile();
    while (file.exists()) Thread.sleep(100);
    long used = usedMb(mb);
    check(used == mb, "after the restart " + used + " MB are in use");
  }

  static void restart(String command) throws Exception {
    Container c = start(command);
    Container lost = fetch(c, 1024);
    killed(512);
    Container now = fetch(c, 1024);
    check(now.getVersion() > lost.getVersion(), "version " + lost.getVersion() + " before, then " + now.getVersion());
    nm.updateContainerResource(now);
    for (int i = 0; i < 60 && onNode(c) != 1024; i++) call();
    killed(1024);
    updated.clear();
    rm.requestContainerUpdate(now, UpdateContainerRequest.newInstance(now.getVersion(), c.getId(), ContainerUpdateType.DECREASE_RESOURCE, Resource.newInstance(512, 1), null));
    for (int i = 0; i < 100 && updated.isEmpty(); i++) call();
    check(updated.size() == 1 && updated.get(0).getContainer().getVersion() > now.getVersion(), "a decrease in a newer version: " + updated + refused);
    long used = usedMb(512);
    for (int i = 0; i < 60 && onNode(c) != 512; i++) call();
    check(used == 512 && onNode(c) == 512, used + " MB are in use, the node has " + onNode(c));
    rm.releaseAssignedContainer(c.getId());
    call();
  }

  // Has a container of 512 MB run the command.
  static Container start(String command) throws Exception {
    AMRMClient.ContainerRequest request = new AMRMClient.ContainerRequest(Resource.newInstance(512, 1), null, null, Priority.newInstance(1));
    rm.addContainerRequest(request);
    Container c = null;
    for (int i = 0; i < 300 && c == null; i++) {
      for (Container x : call().getAllocatedContainers()) c = x;
    }
    rm.removeContainerRequest(request); // or it is asked for again after a restart
    nm.startContainer(c, ContainerLaunchContext.newInstance(null, new HashMap<>(), Collections.singletonList(command), null, null, null));
    for (int i = 0; i < 100 && nm.getContainerStatus(c.getId(), c.getNodeId()).getState() != ContainerState.RUNNING; i++) call();
    for (int i = 0; i < 10; i++) call(); // the ResourceManager has heard of it by then
    return c;
  }

  static void sizes(String command) throws Exception {
    Container c = start(command), old = c;
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
