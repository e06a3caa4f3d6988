#!/usr/bin/env bash
# Stops what start-yarn.sh starts: the NodeManagers on the hosts of `workers`, then the ResourceManagers.
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd) || exit 1
. "$here/../libexec/yarn-daemons.sh"
all stop "$@"
