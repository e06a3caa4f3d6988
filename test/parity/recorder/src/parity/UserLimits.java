package parity;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.UsersManager;

/**
 * What Apache remembers of the limits of a leaf's users. A look at a limit computes it, keeps it until the
 * users change, and counts those who have only pending applications, which moves the limit of masters.
 */
final class UserLimits {
  private static final String[] LIMITS = {"localVersionOfActiveUsersState", "preComputedActiveUserLimit"};
  private static final String COUNT = "activeUsersWithOnlyPendingApps";

  private final UsersManager of;
  private final Map<String, Object> kept = new HashMap<>();
  private final Map<UsersManager.User, Resource> shown = new HashMap<>();

  UserLimits(UsersManager of) {
    this.of = of;
    for (String name : LIMITS) {
      Map<Object, Object> copy = new HashMap<>();
      ((Map<?, ?>) get(name)).forEach((label, modes) -> copy.put(label, new HashMap<>((Map<?, ?>) modes)));
      kept.put(name, copy);
    }
    kept.put(COUNT, get(COUNT)); // a new one takes its place
    of.getUsers().values().forEach(u -> shown.put(u, u.getUserResourceLimit()));
  }

  void restore() {
    kept.forEach(this::set);
    shown.forEach(UsersManager.User::setUserResourceLimit);
  }

  private Object get(String name) {
    try {
      return field(name).get(of);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private void set(String name, Object value) {
    try {
      field(name).set(of, value);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Field field(String name) throws ReflectiveOperationException {
    Field f = UsersManager.class.getDeclaredField(name);
    f.setAccessible(true);
    return f;
  }
}
