import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.*;
import java.util.*;

/**
 * Runs command lines of Hadoop's own commands, one after the other in one process. Each line of standard input is a command line: the class and its words,
 * separated by tabs. The folder named as the argument gets N.out, N.err and N.rc of the Nth command line, counted from 1. Needs -Djava.security.manager=allow.
 */
public class Forms {
  static final int NONE = -9999;
  static volatile int code = NONE;
  static class Left extends SecurityException { }

  static void forget(String type, String method) throws Exception { // clears state that one command would leave to the next
    var m = Class.forName(type).getDeclaredMethod(method);
    m.setAccessible(true);
    m.invoke(null);
  }

  @SuppressWarnings("removal")
  public static void main(String[] args) throws Exception {
    Thread driver = Thread.currentThread();
    System.setSecurityManager(new SecurityManager() {
      @Override public void checkExit(int status) {
        if (Thread.currentThread() == driver) return;
        if (code == NONE) code = status;
        throw new Left();
      }
      @Override public void checkPermission(java.security.Permission p) { }
      @Override public void checkPermission(java.security.Permission p, Object o) { }
    });
    int n = 0;
    for (String line : new BufferedReader(new InputStreamReader(System.in, "UTF-8")).lines().toList()) {
      String[] words = line.split("\t", -1);
      var out = new ByteArrayOutputStream();
      var err = new ByteArrayOutputStream();
      System.setOut(new PrintStream(out, true, "UTF-8"));
      System.setErr(new PrintStream(err, true, "UTF-8"));
      code = NONE;
      boolean[] threw = {false};
      Thread t = new Thread(() -> {
        try {
          Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
        } catch (InvocationTargetException e) {
          if (code != NONE) return;
          threw[0] = true;
          System.err.print("Exception in thread \"main\" ");
          e.getCause().printStackTrace();
        } catch (ReflectiveOperationException e) {
          throw new IllegalStateException(e);
        }
      }, "main");
      t.start();
      t.join(30000);
      String rc = t.isAlive() ? "hangs" : "" + ((code != NONE ? code : threw[0] ? 1 : 0) & 255);
      Path base = Path.of(args[0], String.valueOf(++n));
      Files.write(Path.of(base + ".out"), out.toByteArray());
      Files.write(Path.of(base + ".err"), err.toByteArray());
      Files.writeString(Path.of(base + ".rc"), rc);
      forget("org.apache.hadoop.security.UserGroupInformation", "reset");
    }
    System.setSecurityManager(null);
    Runtime.getRuntime().halt(0);
  }
}
