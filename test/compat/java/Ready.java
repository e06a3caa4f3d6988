import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.QuasiMonteCarlo;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.hadoop.yarn.client.cli.ApplicationCLI;
import org.apache.hadoop.yarn.client.cli.NodeCLI;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/**
 * Ready DIR: loads the classes that stock commands, MapReduce clients and NodeManagers load before the ResourceManager answers them, and ends. It needs
 * no ResourceManager: nothing listens at the address that they try. All that they write is below DIR. fetch has the JVM archive the classes for later JVMs.
 */
class Ready {
  static void run(Tool tool, Configuration conf, String... args) {
    try {
      ToolRunner.run(conf, tool, args);
    } catch (Throwable expected) {
      System.err.println(tool.getClass() + ": " + expected);
    }
  }

  public static void main(String[] args) {
    File dir = new File(args[0]);
    YarnConfiguration conf = new YarnConfiguration();
    conf.set("hadoop.tmp.dir", dir + "/tmp");
    conf.set("mapreduce.framework.name", "yarn");
    conf.set("yarn.app.mapreduce.am.staging-dir", dir + "/staging");
    conf.setInt("ipc.client.connect.max.retries", 0);
    conf.setInt("yarn.resourcemanager.connect.max-wait.ms", 1);
    conf.setInt("yarn.resourcemanager.connect.retry-interval.ms", 1);
    for (String port : new String[] {"", "admin.", "scheduler.", "resource-tracker."}) {
      conf.set("yarn.resourcemanager." + port + "address", "127.0.0.1:1");
    }
    for (String port : new String[] {"", "localizer.", "webapp.", "collector-service."}) {
      conf.set("yarn.nodemanager." + port + "address", "127.0.0.1:0");
    }
    conf.set("yarn.nodemanager.aux-services", "mapreduce_shuffle");
    conf.set("mapreduce.shuffle.port", "0");
    ApplicationCLI applications = new ApplicationCLI();
    applications.setSysOutPrintStream(System.out);
    run(applications, conf, "application", "-list");
    NodeCLI nodes = new NodeCLI();
    nodes.setSysOutPrintStream(System.out);
    run(nodes, conf, "-list");
    run(new RMAdminCLI(), conf, "-refreshQueues");
    run(new JobClient(), conf, "-list");
    run(new QuasiMonteCarlo(), conf, "1", "1");
    NodeManager nm = new NodeManager();
    try {
      nm.init(conf);
      nm.start();
    } catch (Throwable expected) {
      System.err.println(nm.getClass() + ": " + expected);
    }
    System.exit(0);
  }
}
