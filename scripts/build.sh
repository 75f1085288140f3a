#!/usr/bin/env bash
# build.sh debug|release [ARGUMENT...]: builds by `swift build`, prints how far it is, and at its end the folder of the
# programs on standard output.
#
# The arguments are those of `swift build`, such as --product errand. Release programs link Swift's standard library
# statically, so a host needs none. Their symbols and debug information are stripped, which halves them.
set -euo pipefail
cd "$(dirname "$0")/.."

# Package.swift lists folders, so that a new one needs no line there: a cached list lacks it.
options=(--configuration "$1" --manifest-cache none)
[ "$1" = debug ] || options+=(--static-swift-stdlib -Xlinker -s)
whole=
[[ " $* " != *" --build-tests "* ]] || whole=tests
swift build "${options[@]}" "${@:2}" 2>&1 | scripts/progress.sh $whole >&2
swift build "${options[@]}" "${@:2}" --show-bin-path
