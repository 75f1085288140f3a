#!/usr/bin/env bash
# commit.sh debug|release COMMIT [--stand-in]: builds the programs of that commit in a separate clone, and prints their
# folder. A second call builds nothing.
#
# With --stand-in the programs play the previous release while there is none. They are the same code with a lower
# version and a comment in every script, so that `errand migrate` replaces every function and view under running
# programs.
set -euo pipefail
cd "$(dirname "$0")/.."

configuration=$1
commit=$(git rev-parse --verify --quiet "$2^{commit}") || {
    echo "commit.sh: $2 is no commit of this clone: git fetch --unshallow" >&2
    exit 64
}
all=$PWD/.build-commits
folder=$all/$configuration-$commit${3:-}
if [ ! -x "$folder/errand-image" ]; then
    echo "Building $(git log -1 --format='%h, %s' "$commit") in $configuration mode; it takes some minutes." >&2
    rm -rf "$all/source"
    git clone --quiet --no-checkout . "$all/source"
    git -C "$all/source" checkout --quiet "$commit"
    if [ "${3:-}" = --stand-in ]; then
        sed -i 's/\(static let version = \)".*"/\1"0.0.1"/' "$all/source/sql/engine/EngineSchema.swift"
        find "$all/source/sql" \( -path '*/functions/*' -o -path '*/views/*' \) -name '*.sql' \
            -exec sed -i '$a -- of the release before' {} +
    fi
    # The build folder of an earlier commit is reused, so only changed files are compiled.
    (
        cd "$all/source"
        if [ "$configuration" = release ]; then exec scripts/release.sh --quiet --scratch-path "$all/build"; fi
        for program in errand errand-image; do
            swift build --quiet --scratch-path "$all/build" --product "$program"
        done
    ) >&2
    mkdir -p "$folder"
    cp "$all/build/$configuration/errand" "$all/build/$configuration/errand-image" "$folder/"
    rm -rf "$all/source"
fi
echo "$folder"
