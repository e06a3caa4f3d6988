import java.io.File;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.client.RMDelegationTokenIdentifier;
import org.apache.hadoop.yarn.util.ConverterUtils;

/**
 * A ResourceManager's delegation token in a file: {@code get FILE} asks for one, {@code renew FILE} and {@code cancel FILE} give it back to
 * whichever ResourceManager is there now. Prints its sequence number.
 */
public class Delegation {
  public static void main(String[] args) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    File file = new File(args[1]);
    Text alias = new Text("rm");
    Token<?> token;
    if (args[0].equals("get")) {
      YarnClient client = YarnClient.createYarnClient();
      client.init(conf);
      client.start();
      String me = UserGroupInformation.getCurrentUser().getShortUserName();
      token = ConverterUtils.convertFromYarn(client.getRMDelegationToken(new Text(me)),
          conf.getSocketAddr(YarnConfiguration.RM_ADDRESS, YarnConfiguration.DEFAULT_RM_ADDRESS, YarnConfiguration.DEFAULT_RM_PORT));
      client.stop();
      Credentials all = new Credentials();
      all.addToken(alias, token);
      all.writeTokenStorageFile(new org.apache.hadoop.fs.Path(file.toURI()), conf);
    } else {
      token = Credentials.readTokenStorageFile(file, conf).getToken(alias);
      if (args[0].equals("renew")) {
        token.renew(conf);
      } else {
        token.cancel(conf);
      }
    }
    TokenIdentifier id = token.decodeIdentifier();
    System.out.println(args[0] + " token " + ((RMDelegationTokenIdentifier) id).getSequenceNumber());
    System.exit(0);
  }
}
