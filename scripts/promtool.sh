#!/usr/bin/env bash
# promtool.sh ARGUMENT...: runs promtool, of Prometheus, which checks metrics and alert rules.
#
# If none is installed, Debian's package is unpacked into .errand/prometheus. Installing it would start a server.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
tool=$(command -v promtool || echo "$root/.errand/prometheus/usr/bin/promtool")
if [ ! -x "$tool" ]; then
    mkdir -p "$root/.errand"
    work=$(mktemp -d "$root/.errand/prometheus.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    if ! (cd "$work" && apt-get -q download prometheus && dpkg-deb -x prometheus_*.deb .) > "$work/log" 2>&1; then
        cat "$work/log" >&2
        echo "promtool.sh: expected promtool, or apt-get to download the package prometheus" >&2
        exit 69
    fi
    # A test may run beside this one: the first that is finished wins.
    mv -T "$work" "$root/.errand/prometheus" 2> /dev/null || [ -x "$tool" ]
    rm -rf "$work"
fi
exec "$tool" "$@"
