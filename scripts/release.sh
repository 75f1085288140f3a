#!/usr/bin/env bash
# release.sh: builds the programs `errand` and `errand-image` in release mode, and prints their folder.
#
# Swift's standard library is linked statically, so a host needs none. Symbols and debug information are stripped, which
# halves the programs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh build >&2
options=(--configuration release --static-swift-stdlib -Xlinker -s)
for program in errand errand-image; do scripts/progress.sh swift build "${options[@]}" --product "$program" "$@" >&2; done
swift build "${options[@]}" --show-bin-path
