#!/usr/bin/env bash
# release.sh: builds the programs `errand` and `errand-image` in release mode, and prints the folder that they are in.
#
# Swift's own library is linked in, so that a host needs none; it costs no time to build. Names and debug information are
# left out, which halves the programs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh build >&2
options=(--configuration release --static-swift-stdlib -Xlinker -s)
for program in errand errand-image; do scripts/progress.sh swift build "${options[@]}" --product "$program" "$@" >&2; done
swift build "${options[@]}" --show-bin-path
