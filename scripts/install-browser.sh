#!/usr/bin/env bash
# Installs Chromium from Debian's packages, for the tests of the web page.
set -euo pipefail
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "Install Chromium with your system's packages, then run this again." >&2
    exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends chromium
