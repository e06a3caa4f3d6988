// Submits over RPC what stands in a REST submission's JSON (standard input), for a ResourceManager whose REST interface
// takes none.  java -cp 'CONFDIR:LIB/*' SubmitRest.java <context.json
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.*;
import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.*;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

public class SubmitRest {
  static Resource size(JsonNode r) {
    Resource out = Resource.newInstance(r.get("memory").asLong(), r.get("vCores").asInt());
    for (JsonNode i : r.path("resourceInformations").path("resourceInformation"))
      out.setResourceValue(i.get("name").asText(), i.get("value").asLong());
    return out;
  }
  public static void main(String[] a) throws Exception {
    JsonNode m = new ObjectMapper().readTree(System.in);
    JsonNode spec = m.get("am-container-spec");
    Map<String, String> environment = new HashMap<>();
    for (JsonNode e : spec.path("environment").path("entry")) environment.put(e.get("key").asText(), e.get("value").asText());
    // What a REST submission does not say counts as said and empty: labels and ACLs.
    ContainerLaunchContext launch = ContainerLaunchContext.newInstance(new HashMap<>(), environment,
        List.of(spec.get("commands").get("command").asText()), null, null, new HashMap<>());
    ApplicationSubmissionContext c = ApplicationSubmissionContext.newInstance(ApplicationId.fromString(m.get("application-id").asText()),
        m.get("application-name").asText(), m.get("queue").asText(), Priority.newInstance(m.get("priority").asInt()), launch,
        m.get("unmanaged-AM").asBoolean(), true, m.get("max-app-attempts").asInt(), size(m.get("resource")),
        m.get("application-type").asText(), m.get("keep-containers-across-application-attempts").asBoolean(),
        m.path("app-node-label-expression").asText(""), m.path("am-container-node-label-expression").asText(""));
    Set<String> tags = new HashSet<>();
    for (JsonNode t : m.path("application-tags").path("tag")) tags.add(t.asText());
    c.setApplicationTags(tags);
    Map<ApplicationTimeoutType, Long> timeouts = new HashMap<>();
    for (JsonNode t : m.path("timeouts").path("timeout")) timeouts.put(ApplicationTimeoutType.valueOf(t.get("type").asText()), t.get("value").asLong());
    if (!timeouts.isEmpty()) c.setApplicationTimeouts(timeouts);
    ClientRMProxy.createRMProxy(new YarnConfiguration(), ApplicationClientProtocol.class).submitApplication(SubmitApplicationRequest.newInstance(c));
  }
}
