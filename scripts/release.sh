#!/usr/bin/env bash
# release.sh: builds the programs `errand` and `errand-image` in release mode, and prints their folder.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh build >&2
scripts/build.sh release --product errand-image "$@" > /dev/null
scripts/build.sh release --product errand "$@"
