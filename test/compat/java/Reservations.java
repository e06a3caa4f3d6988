// Reserves, changes, lists and gives up what it has reserved, with the stock client.
// argv: the queue, MiB and number of containers to reserve; then `keep` prints the id of a reservation that is due now and lasts for five minutes,
// `drop ID` gives it up. Prints one line for each check; exits 1 if one went wrong.
import java.util.*;
import org.apache.hadoop.yarn.api.protocolrecords.*;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

public class Reservations {
  static YarnClient client;
  static String queue;
  static int mb, count;
  static boolean good = true;

  static void check(boolean ok, String what) {
    System.err.println((ok ? "reservation ok: " : "reservation WRONG: ") + what);
    good &= ok;
  }

  interface Call { void run() throws Exception; }

  static void refused(Call c, String with, String what) {
    try {
      c.run();
      check(false, what + " was taken");
    } catch (Exception e) {
      String text = e.getClass().getName() + ": " + e.getMessage();
      check(text.contains(with), what + " is refused: " + text);
    }
  }

  static ReservationDefinition of(long arrival, long deadline, ReservationRequestInterpreter how, ReservationRequest... list) {
    return ReservationDefinition.newInstance(arrival, deadline, ReservationRequests.newInstance(Arrays.asList(list), how), "heddle", "0", Priority.newInstance(3));
  }

  static ReservationRequest stage(int n, int together, long millis) {
    return ReservationRequest.newInstance(Resource.newInstance(mb, 1), n, together, millis);
  }

  static ReservationId submit(String queue, ReservationDefinition d) throws Exception {
    ReservationId id = client.createReservation().getReservationId();
    client.submitReservation(ReservationSubmissionRequest.newInstance(d, queue, id));
    return id;
  }

  static List<ReservationAllocationState> list(ReservationId id) throws Exception {
    return client.listReservations(ReservationListRequest.newInstance(queue, id == null ? "" : id.toString(), true)).getReservationAllocationState();
  }

  public static void main(String[] argv) throws Exception {
    queue = argv[0];
    mb = Integer.parseInt(argv[1]);
    count = Integer.parseInt(argv[2]);
    client = YarnClient.createYarnClient();
    client.init(new YarnConfiguration());
    client.start();
    if (argv[3].equals("drop")) {
      client.deleteReservation(ReservationDeleteRequest.newInstance(ReservationId.parseReservationId(argv[4])));
      System.exit(0);
    }
    long now = System.currentTimeMillis(), minute = 60000;
    ReservationDefinition later = of(now + 30 * minute, now + 40 * minute, ReservationRequestInterpreter.R_ORDER, stage(count, 1, minute), stage(1, 1, 2 * minute));
    ReservationId id = submit(queue, later);
    List<ReservationAllocationState> found = list(id);
    check(found.size() == 1 && found.get(0).getReservationDefinition().equals(later), "it is listed as it was asked for: " + found);
    List<ResourceAllocationRequest> got = found.get(0).getResourceAllocationRequests();
    check(got.size() > 0 && got.get(0).getStartTime() >= now + 30 * minute && got.get(0).getCapability().getMemorySize() > 0, "it has its time and its room: " + got);
    client.submitReservation(ReservationSubmissionRequest.newInstance(later, queue, id));
    check(list(null).size() == 1, "the same again is one: " + list(null).size());
    ReservationDefinition other = of(now + 31 * minute, now + 40 * minute, ReservationRequestInterpreter.R_ALL, stage(1, 1, minute));
    refused(() -> client.submitReservation(ReservationSubmissionRequest.newInstance(other, queue, id)), "different reservation definition", "another definition under its id");
    client.updateReservation(ReservationUpdateRequest.newInstance(other, id));
    found = list(id);
    check(found.size() == 1 && found.get(0).getReservationDefinition().equals(other), "it is changed");
    refused(() -> client.updateReservation(ReservationUpdateRequest.newInstance(of(now, now + minute, ReservationRequestInterpreter.R_ALL, stage(1000, 1, minute)), id)),
        "YarnException", "a change for which there is no room");
    check(list(id).size() == 1 && list(id).get(0).getReservationDefinition().equals(other), "it is as it was before");
    refused(() -> submit("default", other), "not managed by reservation system", "a queue without a plan");
    refused(() -> submit(queue, of(1, 2, ReservationRequestInterpreter.R_ALL, stage(1, 1, 1))), "is the past", "the past");
    refused(() -> submit(queue, of(now, now + minute, ReservationRequestInterpreter.R_ALL)), "No resources", "nothing");
    refused(() -> submit(queue, of(now, now + minute, ReservationRequestInterpreter.R_ALL, stage(100000, 100000, minute))), "largest gang", "a gang larger than the queue");
    refused(() -> submit(queue, of(now, now + minute, ReservationRequestInterpreter.R_ALL, stage(1, 1, 2 * minute))), "minimum resource duration", "more time than there is");
    refused(() -> client.deleteReservation(ReservationDeleteRequest.newInstance(ReservationId.newInstance(1, 1))), "is unknown", "one that never was");
    client.deleteReservation(ReservationDeleteRequest.newInstance(id));
    check(list(null).isEmpty(), "it is gone");
    refused(() -> client.deleteReservation(ReservationDeleteRequest.newInstance(id)), "IllegalArgumentException", "the same a second time");
    if (argv[3].equals("keep"))
      System.out.println(submit(queue, of(now, now + 5 * minute + 1000, ReservationRequestInterpreter.R_ALL, stage(count, 1, 5 * minute))));
    System.exit(good ? 0 : 1);
  }
}
