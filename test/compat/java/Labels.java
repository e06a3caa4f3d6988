// Plays a script of requests about node labels with the stock client and prints what comes back: one line a request, its answer
// indented below. No times, ports or ids in the output, so that two ResourceManagers can be compared.
//   java -cp CONF:LIB/* Labels.java SCRIPT HTTP-ADDRESS
//
//   rmadmin|cluster|node|queue WORDS…      the stock command lines; "a b" is one word, @node is the first running node
//   add NAME[:shared]…  remove NAME…  replace NODE=LABEL,…|NODE= … [fail]      the calls themselves, which the command lines check first
//   labels  mappings  nodes LABEL…         what the client's calls list
//   named LABEL                            waits until some node has it
//   get PATH  post USER PATH [BODY]        web services below /ws/v1/cluster
//   submit NAME QUEUE [label=L] [am=L]  report NAME  wait NAME placed  kill NAME      # a comment
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.io.*;
import java.net.URI;
import java.net.http.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import org.apache.hadoop.util.*;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.*;
import org.apache.hadoop.yarn.client.cli.*;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocol;
import org.apache.hadoop.yarn.server.api.protocolrecords.*;

public class Labels {
  static final YarnConfiguration conf = new YarnConfiguration();
  static final Map<String, ApplicationId> apps = new LinkedHashMap<>();
  static YarnClient client;
  static ResourceManagerAdministrationProtocol admin;
  static String web;

  // What is the same in every run: no ports, times and stack traces, and lists without the order of a hash.
  static String steady(String s) {
    if (s == null) return "";
    s = s.replaceAll("(?m)^\\s+at .*\n?", "").replaceAll("(?m)^(Caused by: |\\s*\\.\\.\\. ).*\n?", "");
    for (var e : apps.entrySet()) s = s.replace(e.getValue().toString(), "<" + e.getKey() + ">");
    s = s.replaceAll("application_\\d+_\\d+", "<application>").replaceAll("(127\\.0\\.0\\.1|localhost):\\d+", "<address>")
        .replaceAll("\\[[A-Z][a-z]{2} [A-Z][a-z]{2} \\d\\d [^\\]]*\\]", "<time>");
    s = s.replaceAll("(Resource Utilization by Node :).*", "$1 <use>");
    Matcher m = Pattern.compile("(?m)^Node Labels: (.*)$").matcher(s);
    if (m.find()) s = m.replaceFirst(Matcher.quoteReplacement("Node Labels: " + String.join(",", new TreeSet<>(List.of(m.group(1).split(","))))));
    return s.strip().replaceAll("\n\\s*\n", "\n").replace("\n", "\n  ").replaceAll("[ \t]+(?=\n|$)", "");
  }

  static void say(Object o) { String s = steady(String.valueOf(o)); if (!s.isEmpty()) System.out.println("  " + s); }

  static List<String> words(String line) throws Exception {
    List<String> out = new ArrayList<>();
    Matcher m = Pattern.compile("\"([^\"]*)\"|(\\S+)").matcher(line);
    while (m.find()) out.add(m.group(1) != null ? m.group(1) : m.group(2));
    for (ListIterator<String> i = out.listIterator(); i.hasNext();) {
      String w = i.next();
      if (w.contains("@node")) i.set(w.replace("@node", client.getNodeReports(NodeState.RUNNING).get(0).getNodeId().toString()));
    }
    return out;
  }

  // A command's two streams and its exit code. Of usage texts the first line says enough.
  static void run(Tool tool, List<String> args) throws Exception {
    PrintStream out = System.out, err = System.err;
    ByteArrayOutputStream o = new ByteArrayOutputStream(), e = new ByteArrayOutputStream();
    System.setOut(new PrintStream(o, true)); System.setErr(new PrintStream(e, true));
    int rc;
    try {
      if (tool instanceof YarnCLI) { ((YarnCLI) tool).setSysOutPrintStream(System.out); ((YarnCLI) tool).setSysErrPrintStream(System.err); }
      rc = ToolRunner.run(conf, tool, args.toArray(new String[0]));
    } finally { System.out.flush(); System.err.flush(); System.setOut(out); System.setErr(err); }
    say(o.toString(StandardCharsets.UTF_8));
    String text = e.toString(StandardCharsets.UTF_8);
    int usage = text.indexOf("Usage: ");
    say(usage < 0 ? text : text.substring(0, usage));
    if (rc != 0) System.out.println("  exit " + rc);
  }

  static Object sorted(Collection<?> c) {
    List<String> out = new ArrayList<>();
    for (Object o : c) out.add(steady(o.toString()));
    Collections.sort(out);
    return out;
  }

  // A document with its lists in order; of amounts those that every cluster has.
  static JsonNode ordered(JsonNode n) {
    if (n.isArray()) {
      List<JsonNode> all = new ArrayList<>();
      for (JsonNode x : n) all.add(ordered(x));
      all.sort(Comparator.comparing(JsonNode::toString));
      return new ArrayNode(JsonNodeFactory.instance, all);
    }
    if (n.isObject()) {
      ((ObjectNode) n).remove("resourceInformations");
      for (var e : ((ObjectNode) n).properties()) e.setValue(ordered(e.getValue()));
    }
    return n;
  }

  static NodeId node(String s) { return s.contains(":") ? NodeId.fromString(s) : NodeId.newInstance(s, 0); }

  static void http(HttpRequest.Builder b, String path) throws Exception {
    HttpResponse<String> r = HttpClient.newHttpClient().send(b.uri(URI.create("http://" + web + "/ws/v1/cluster" + path)).header("Accept", "application/json").build(),
        HttpResponse.BodyHandlers.ofString());
    String body = r.body();
    if (body.startsWith("{") && r.statusCode() == 200) body = ordered(new ObjectMapper().readTree(body)).toString();
    say(r.statusCode() + " " + body);
  }

  static void report(String name) throws Exception {
    ApplicationReport r = client.getApplicationReport(apps.get(name));
    int placed = 0;
    for (ApplicationAttemptReport t : client.getApplicationAttempts(apps.get(name))) placed += client.getContainers(t.getApplicationAttemptId()).size();
    System.out.printf("  %s %s queue=%s app=%s am=%s containers=%d%n", r.getYarnApplicationState(), r.getFinalApplicationStatus(), r.getQueue(),
        r.getAppNodeLabelExpression(), r.getAmNodeLabelExpression(), placed);
    if (r.getYarnApplicationState() == YarnApplicationState.FAILED) say(r.getDiagnostics());
  }

  static void submit(String name, String queue, Map<String, String> o) throws Exception {
    ApplicationSubmissionContext x = client.createApplication().getApplicationSubmissionContext();
    apps.put(name, x.getApplicationId());
    x.setApplicationName(name);
    x.setQueue(queue);
    x.setMaxAppAttempts(1);
    x.setResource(Resource.newInstance(512, 1));
    x.setAMContainerSpec(ContainerLaunchContext.newInstance(Map.of(), Map.of(), List.of("sleep 300"), null, null, null));
    if (o.containsKey("label")) x.setNodeLabelExpression(o.get("label"));
    if (o.containsKey("am")) {
      x.setAMContainerResourceRequests(List.of(ResourceRequest.newInstance(Priority.newInstance(0), "*", Resource.newInstance(512, 1), 1, true, o.get("am"))));
    }
    client.submitApplication(x);
    ApplicationReport r = client.getApplicationReport(x.getApplicationId());
    System.out.printf("  accepted app=%s am=%s%n", r.getAppNodeLabelExpression(), r.getAmNodeLabelExpression());
  }

  static void play(List<String> w) throws Exception {
    List<String> rest = w.subList(1, w.size());
    switch (w.get(0)) {
      case "rmadmin": run(new RMAdminCLI(), rest); break;
      case "cluster": run(new ClusterCLI(), rest); break;
      case "node": run(new NodeCLI(), rest); break;
      case "queue": run(new QueueCLI(), rest); break;
      case "add": {
        List<NodeLabel> l = new ArrayList<>();
        for (String s : rest) l.add(NodeLabel.newInstance(s.replace(":shared", ""), !s.endsWith(":shared")));
        admin.addToClusterNodeLabels(AddToClusterNodeLabelsRequest.newInstance(l));
        break;
      }
      case "remove": admin.removeFromClusterNodeLabels(RemoveFromClusterNodeLabelsRequest.newInstance(new TreeSet<>(rest))); break;
      case "replace": {
        Map<NodeId, Set<String>> m = new HashMap<>();
        boolean fail = false;
        for (String s : rest) {
          if (s.equals("fail")) { fail = true; continue; }
          String[] p = s.split("=", 2);
          m.put(node(p[0]), p[1].isEmpty() ? Set.of() : new TreeSet<>(List.of(p[1].split(","))));
        }
        ReplaceLabelsOnNodeRequest r = ReplaceLabelsOnNodeRequest.newInstance(m);
        r.setFailOnUnknownNodes(fail);
        admin.replaceLabelsOnNode(r);
        break;
      }
      case "labels": say(sorted(client.getClusterNodeLabels())); break;
      case "mappings": {
        List<String> l = new ArrayList<>();
        for (var e : client.getNodeToLabels().entrySet()) l.add(e.getKey() + "=" + new TreeSet<>(e.getValue()));
        say(sorted(l));
        break;
      }
      case "nodes": {
        List<String> l = new ArrayList<>();
        for (var e : (rest.isEmpty() ? client.getLabelsToNodes() : client.getLabelsToNodes(new HashSet<>(rest))).entrySet()) l.add(e.getKey() + "=" + sorted(e.getValue()));
        say(sorted(l));
        break;
      }
      case "get": http(HttpRequest.newBuilder().GET(), rest.get(0)); break;
      case "post":
        http(HttpRequest.newBuilder().header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(String.join(" ", rest.subList(2, rest.size())))),
            rest.get(1) + (rest.get(0).equals("-") ? "" : (rest.get(1).contains("?") ? "&" : "?") + "user.name=" + rest.get(0)));
        break;
      case "submit": {
        Map<String, String> o = new HashMap<>();
        for (String s : w.subList(3, w.size())) { String[] p = s.split("=", 2); o.put(p[0], p[1]); }
        submit(w.get(1), w.get(2), o);
        break;
      }
      case "named":
        for (int i = 0; i < 600 && client.getLabelsToNodes(Set.of(w.get(1))).isEmpty(); i++) Thread.sleep(100);
        say(client.getLabelsToNodes(Set.of(w.get(1))).isEmpty() ? "no node has it" : "a node has it");
        break;
      case "report": report(w.get(1)); break;
      case "wait":
        for (int i = 0; i < 200; i++) {
          ApplicationAttemptId t = client.getApplicationReport(apps.get(w.get(1))).getCurrentApplicationAttemptId();
          if (!client.getContainers(t).isEmpty()) break;
          Thread.sleep(100);
        }
        report(w.get(1));
        break;
      case "kill": client.killApplication(apps.get(w.get(1))); report(w.get(1)); break;
      default: throw new IllegalArgumentException(w.get(0));
    }
  }

  public static void main(String[] a) throws Exception {
    web = a[1];
    client = YarnClient.createYarnClient();
    client.init(conf);
    client.start();
    admin = ClientRMProxy.createRMProxy(conf, ResourceManagerAdministrationProtocol.class);
    for (String line : Files.readAllLines(Path.of(a[0]))) {
      System.out.println(line);
      if (line.isBlank() || line.startsWith("#") || line.equals("restart")) continue; // the script's caller restarts
      try {
        // Bodies keep their quotes.
        play(line.startsWith("post ") ? List.of(line.split(" ", 4)) : words(line));
      } catch (Exception e) {
        Throwable t = e instanceof java.lang.reflect.UndeclaredThrowableException && e.getCause() != null ? e.getCause() : e;
        System.out.println("  " + t.getClass().getName() + ": " + steady(t.getMessage()));
      }
    }
    System.exit(0);
  }
}
