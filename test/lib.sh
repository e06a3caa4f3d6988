# Shared by the scripts of this folder; sourced, not run. Works from the repository's root.
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 2
export CGO_ENABLED=${CGO_ENABLED:-0}
PASSED=0 FAILED=0

# pass NAME, fail NAME REASON: one line, and counted.
pass() { PASSED=$((PASSED + 1)); echo "PASS $*"; }
fail() { FAILED=$((FAILED + 1)); echo "FAIL $*"; }

# section NAME: ends the section before, which prints how many seconds it took, and prints a heading. `total` ends the last section.
SECTION='' SECTION_AT=0
section() { section_end; SECTION=$* SECTION_AT=$SECONDS; echo "--- $*"; }
section_end() { [ -z "$SECTION" ] || echo "    $((SECONDS - SECTION_AT)) s: $SECTION"; SECTION=''; }

# step NAME COMMAND...: runs it; shows its output only when it fails.
step() {
  local name=$1 out t=$SECONDS; shift
  out=$(mktemp "${TMPDIR:-/tmp}/heddle-step.XXXXXX")
  if "$@" >"$out" 2>&1; then pass "$name ($((SECONDS - t)) s)"; else fail "$name ($((SECONDS - t)) s)"; tail -n 200 "$out"; fi
  rm -f "$out"
}

# lines COMMAND...: a command that prints PASS and FAIL lines of its own and, last, "N passed, N failed"; adds up.
lines() {
  local out last rc; out=$(mktemp "${TMPDIR:-/tmp}/heddle-lines.XXXXXX")
  "$@" 2>&1 | tee "$out"; rc=${PIPESTATUS[0]}
  last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$out" | tail -1)
  if [ -z "$last" ]; then fail "$* ended with $rc without counting"; else
    PASSED=$((PASSED + ${last%% *})); last=${last#*, }
    FAILED=$((FAILED + ${last%% *}))
    [ "$rc" = 0 ] || [ "${last%% *}" != 0 ] || fail "$* ended with $rc"
  fi
  rm -f "$out"
}

# total: the last line; its status is the script's.
total() { section_end; echo "$PASSED passed, $FAILED failed"; [ "$FAILED" = 0 ]; }

# missing TOOL...: those that are not here, one to a line, with what they are for.
missing() {
  local t
  for t in "$@"; do
    command -v "$t" >/dev/null 2>&1 && continue
    case $t in
      java) echo "java (a Java 17 JDK: the stock clients and NodeManagers)";;
      mvn) echo "mvn (Maven: brings the stock Hadoop jars)";;
      python3) echo "python3 (compares recorded answers; PySpark)";;
      curl) echo "curl (asks the ResourceManager's web server)";;
      protoc) echo "protoc (protobuf-compiler: regenerates wire/pb)";;
      *) echo "$t";;
    esac
  done
}
