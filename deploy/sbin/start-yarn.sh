#!/usr/bin/env bash
# Starts the ResourceManager here, or, with high availability, all of them, and the NodeManagers on the hosts of `workers` by ssh. Words given are passed
# to yarn in front of the sub-command: --config DIR.
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd) || exit 1
. "$here/../libexec/yarn-daemons.sh"
all start "$@"
