#!/usr/bin/env bash
# As yarn-daemon.sh, on all hosts of `workers`.
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd) || exit 1
. "$here/../libexec/yarn-daemons.sh"
one --workers "$@"
