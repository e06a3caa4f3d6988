#!/usr/bin/env bash
# The old form of `yarn --daemon start|stop|status DAEMON`: yarn-daemon.sh [--config DIR] start|stop|status DAEMON [ARG...].
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd) || exit 1
. "$here/../libexec/yarn-daemons.sh"
one "" "$@"
