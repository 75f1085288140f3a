#!/usr/bin/env bash
# test-web.sh: walks through the operators' page in Chromium, beside a real worker, and takes the pictures of
# docs/page.md anew. FULL=1 also measures each page at ten million ended and a million waiting jobs.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database web
folder=.errand/web
mkdir -p "$folder"
if [ ! -x "$folder/venv/bin/python" ]; then python3 -m venv "$folder/venv"; fi
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check selenium==4.27.1
# Only its copy of axe-core is used, so nothing that it depends on is installed.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps axe-playwright-python==0.1.8
program=${ERRAND_BIN:-$(scripts/build.sh debug --product errand)}
export PYTHONDONTWRITEBYTECODE=1
if [ "${FULL:-}" = 1 ]; then
    scripts/cluster.sh with "$folder/cluster" "$folder/venv/bin/python" Tests/Browser/speed.py "$program/errand" \
        "$folder/logs"
else
    scripts/cluster.sh with "$folder/cluster" "$folder/venv/bin/python" Tests/Browser/main.py "$program/errand" \
        "$folder/logs" docs/screenshots
fi
