# Shared by the browser tests; sourced after ../lib.sh. Finds the browser and the binary, and starts clusters below $dir, which ends with the script.
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
yarn=$(readlink -f "${YARN:-bin/yarn}")
if ! command -v npm >/dev/null || [ -z "$chromium" ]; then
  echo "not run: it needs Node.js with npm and Chromium (CHROMIUM names it)"; total; exit
fi
[ -x "$yarn" ] || { fail "no $yarn: run make build"; total; exit; }
if [ ! ui/app/node_modules/.package-lock.json -nt ui/app/package-lock.json ]; then
  (cd ui/app && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json) || { fail "npm ci"; total; exit; }
fi
export CHROMIUM=$chromium
dir=$(mktemp -d "${TMPDIR:-/tmp}/heddle-ui.XXXXXX"); chmod 755 "$dir"
declare -A started=()
# end NAME: ends what has that name.
end() { if [ -n "${started[$1]:-}" ]; then kill "${started[$1]}" 2>/dev/null; wait "${started[$1]}" 2>/dev/null; unset "started[$1]"; fi; }
trap 'for name in "${!started[@]}"; do end "$name"; done; rm -rf "$dir"' EXIT

# cluster NAME OPTION...: a cluster of two nodes in $dir/NAME. Its pages are at $PAGES, its configuration in $CONF.
cluster() {
  local name=$1; shift
  "$yarn" minicluster --nodes 2 --memory 3072 --vcores 8 --dir "$dir/$name" -conf yarn.admin.acl=root,admin \
    -conf yarn.resourcemanager.heddle.ui.address=127.0.0.1:0 "$@" >"$dir/$name.out" 2>&1 & started[$name]=$!
  for _ in $(seq 600); do grep -q '^Ctrl-C ends it' "$dir/$name.out" && break; kill -0 "${started[$name]}" 2>/dev/null || break; sleep 0.1; done
  PAGES=$(sed -n 's/^pages: *//p' "$dir/$name.out") CONF=$dir/$name/conf
  [ -n "$PAGES" ] || { fail "the cluster $name did not start"; tail -20 "$dir/$name.out"; total; exit 1; }
}

# pair: two ResourceManagers without an election. rm1 is active, its pages are at $ACTIVE; rm2 is a standby at $STANDBY.
pair() {
  local r=yarn.resourcemanager id k port=$((10000 + RANDOM % 20000)) # no connection takes those by chance
  mkdir -p "$dir/pair"
  {
    echo "<configuration>"
    for k in ha.enabled=true ha.rm-ids=rm1,rm2 ha.automatic-failover.enabled=false cluster-id=ui store.class=memory; do
      echo "<property><name>$r.${k%%=*}</name><value>${k#*=}</value></property>"
    done
    echo "<property><name>yarn.admin.acl</name><value>*</value></property>"
    for id in rm1 rm2; do for k in address scheduler.address resource-tracker.address admin.address webapp.address; do
      port=$((port + 1))
      while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
      echo "<property><name>$r.$k.$id</name><value>127.0.0.1:$port</value></property>"
      [ $k != webapp.address ] || eval "$([ $id = rm1 ] && echo ACTIVE || echo STANDBY)=http://127.0.0.1:$port"
    done; done
    echo "</configuration>"
  } >"$dir/pair/yarn-site.xml"
  export ACTIVE STANDBY PAIR=$dir/pair YARN=$yarn
  cp "$dir/file/conf/capacity-scheduler.xml" "$dir/pair/"
  for id in rm1 rm2; do "$yarn" --config "$dir/pair" resourcemanager -D $r.ha.id=$id >"$dir/pair/$id.out" 2>&1 & started[$id]=$!; done
  for _ in $(seq 100); do "$yarn" --config "$dir/pair" rmadmin -transitionToActive rm1 >"$dir/pair/made" 2>&1 && return; sleep 0.2; done
  fail "rm1 did not become active"; cat "$dir/pair/made" "$dir/pair/rm1.out" | tail -20
}
