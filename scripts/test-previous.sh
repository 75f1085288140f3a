#!/usr/bin/env bash
# test-previous.sh [COMMIT]: the last released program and this one, side by side on one database, under load.
#
# Builds that program, or that of COMMIT, from the git history into .build-previous/; a second run builds nothing. Before the
# first release a stand-in takes its place: this commit with a lower version, whose scripts all differ by a comment. So
# `errand migrate` replaces every function and view under the programs that run.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

commit=${1:-$(sed -n 's/^# [^ ]* //p' scripts/released.txt | tail -n 1)}
stand_in=no
[ -n "$commit" ] || { commit=HEAD stand_in=yes; }
commit=$(git rev-parse --verify --quiet "$commit^{commit}") || {
    echo "test-previous.sh: the commit of the last release is not in this clone: git fetch --unshallow" >&2
    exit 69
}
scripts/need.sh build database test
folder=$PWD/.build-previous
program=$folder/errand-$commit
if [ ! -x "$program" ]; then
    echo "Building $(git log -1 --format='%h, %s' "$commit")"
    rm -rf "$folder/source"
    git clone --quiet --no-checkout . "$folder/source"
    git -C "$folder/source" checkout --quiet "$commit"
    if [ "$stand_in" = yes ]; then
        sed -i 's/\(static let version = \)".*"/\1"0.0.1"/' "$folder/source/sql/Schema.swift"
        find "$folder/source/sql/functions" "$folder/source/sql/views" -name '*.sql' \
            -exec sed -i '$a -- of the release before' {} +
    fi
    # What this program was built from is there already: only what has changed since is compiled again.
    [ ! -f Package.resolved ] || cp Package.resolved "$folder/source/"
    (cd "$folder/source" && swift build --quiet --product errand --scratch-path "$folder/build")
    cp "$folder/build/debug/errand" "$program"
fi
export ERRAND_PREVIOUS=$program
exec scripts/test.sh --filter PreviousProgramTests
