#!/usr/bin/env bash
# Installs etcd and pgbouncer from Debian's packages, for the tests of a cluster. Their services are not started.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
if command -v etcd >/dev/null && command -v pgbouncer >/dev/null; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "Install etcd and pgbouncer with your system's packages, then run this again." >&2
    exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
$as_root apt-get update -qq
$as_root env RUNLEVEL=1 apt-get install -y -qq --no-install-recommends etcd-server pgbouncer
