#!/usr/bin/env bash
# Install the servers that the socket bench compares with: etcd and ZooKeeper, from Debian.
# The benches start their own on loopback ports, so the packages' services are not started.
set -euo pipefail
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update --quiet
# Debian's own way to install a service without starting it.
"${as_root[@]}" env RUNLEVEL=1 apt-get install --yes --quiet --no-install-recommends etcd-server zookeeper
