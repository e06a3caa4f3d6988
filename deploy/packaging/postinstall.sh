#!/bin/sh
# After the files are there: the user that the daemons and all containers run as, and its directories. Called by dpkg with "configure" and the
# version before, by rpm with 1, at an upgrade with 2.
set -e
case "$1" in configure | 1 | 2) ;; *) exit 0 ;; esac
getent group yarn >/dev/null || groupadd --system yarn
getent passwd yarn >/dev/null ||
  useradd --system --gid yarn --no-create-home --home-dir /var/lib/hadoop-yarn --shell /usr/sbin/nologin yarn
for dir in /var/lib/hadoop-yarn /var/log/hadoop-yarn; do
  [ -d $dir ] || install -d -m 755 -o yarn -g yarn $dir
done
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # Daemons that run take the new program over; with recovery on, as in the configuration that came with this package, applications and their
  # containers go on meanwhile. One that is not started stays so.
  systemctl try-restart yarn-resourcemanager.service yarn-nodemanager.service yarn-logserver.service
fi
