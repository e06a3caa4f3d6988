#!/bin/sh
# Before the files go, but not at an upgrade. Called by dpkg with "remove", by rpm with 0. Containers of a NodeManager that keeps them are ended by
# nobody then: end the applications first.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
if [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now yarn-resourcemanager.service yarn-nodemanager.service yarn-logserver.service || true
fi
