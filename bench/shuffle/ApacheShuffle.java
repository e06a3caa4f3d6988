import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;

/** Runs a ShuffleHandler for one job: DIR PORT [KEY=VALUE]... */
public class ApacheShuffle {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, Integer.parseInt(args[1]));
    for (int i = 2; i < args.length; i++) {
      int at = args[i].indexOf('=');
      conf.set(args[i].substring(0, at), args[i].substring(at + 1));
    }
    ShuffleHandler handler = new ShuffleHandler();
    handler.setAuxiliaryLocalPathHandler(new OneDirectory(args[0]));
    handler.init(conf);
    handler.start();
    byte[] key = {1, 2, 3, 4, 5, 6, 7, 8};
    Token<JobTokenIdentifier> token =
        new Token<>(new byte[0], key, new Text("mapreduce.job"), new Text());
    ByteBuffer data = ShuffleHandler.serializeServiceData(token);
    handler.initializeApplication(new ApplicationInitializationContext(
        "bench", ApplicationId.newInstance(1700000000000L, 7), data));
    Thread.currentThread().join();
  }

  /** Looks paths up in one local directory. */
  static class OneDirectory implements AuxiliaryLocalPathHandler {
    private final String dir;

    OneDirectory(String dir) {
      this.dir = dir;
    }

    @Override
    public Path getLocalPathForRead(String path) throws IOException {
      File f = new File(dir, path);
      if (!f.exists()) {
        throw new FileNotFoundException(path);
      }
      return new Path(f.getPath());
    }

    @Override
    public Path getLocalPathForWrite(String path) {
      return new Path(dir, path);
    }

    @Override
    public Path getLocalPathForWrite(String path, long size) {
      return new Path(dir, path);
    }

    @Override
    public Iterable<Path> getAllLocalPathsForRead(String path) throws IOException {
      return java.util.List.of(getLocalPathForRead(path));
    }
  }
}
