#!/bin/sh
# After the files have gone. The state store, the logs and the user stay, even when dpkg purges: they are the cluster's.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload || true
if [ "$1" = purge ]; then
  echo "heddle: /var/lib/hadoop-yarn, /var/log/hadoop-yarn and the user yarn are left; remove them if the cluster is gone for good" >&2
fi
