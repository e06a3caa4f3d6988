# What the scripts of sbin share; sourced by them.
yarn=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../bin" && pwd)/yarn

# all start|stop [OPTION...]: the daemons of a cluster.
all() {
  local what=$1 failed=0 names; shift
  managers() {
    # With high availability the hosts of all ResourceManagers, else nobody: the one is started here.
    "$yarn" "$@" rmadmin -getAllServiceState 2>/dev/null | sed -n 's/^\([^ :]*\):[0-9][0-9]* .*/\1/p' | sort -u | paste -sd,
  }
  manager() {
    names=$(managers "$@")
    if [ -n "$names" ]; then
      echo "${what}: ResourceManagers on $names"
      "$yarn" "$@" --workers --hostnames "$names" --daemon "$what" resourcemanager || failed=1
    else
      echo "${what}: ResourceManager"
      "$yarn" "$@" --daemon "$what" resourcemanager || failed=1
    fi
  }
  [ "$what" = stop ] || manager "$@"
  echo "${what}: NodeManagers"
  "$yarn" "$@" --workers --daemon "$what" nodemanager || failed=1
  [ "$what" = start ] || manager "$@"
  return $failed
}

# one FLAG [--config DIR] start|stop|status DAEMON [ARG...]
one() {
  local flag=$1 config=(); shift
  if [ "$1" = --config ]; then config=(--config "$2"); shift 2; fi
  if [ $# -lt 2 ]; then echo "Usage: $(basename "$0") [--config DIR] start|stop|status DAEMON [ARG...]" >&2; return 1; fi
  echo "WARNING: $(basename "$0") is the old form of: yarn${flag:+ $flag} --daemon $1 $2" >&2
  exec "$yarn" "${config[@]}" ${flag:+"$flag"} --daemon "$@"
}
