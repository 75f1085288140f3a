#!/usr/bin/env bash
# test-previous.sh [COMMIT]: the last released program and this one, side by side on one database, under load.
#
# Builds that program, or that of COMMIT, from the git history into .build-previous/; a second run builds nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

commit=${1:-$(sed -n 's/^# [^ ]* //p' scripts/released.txt | tail -n 1)}
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
    # What this program was built from is there already: only what has changed since is compiled again.
    [ ! -f Package.resolved ] || cp Package.resolved "$folder/source/"
    (cd "$folder/source" && swift build --quiet --product errand --scratch-path "$folder/build")
    cp "$folder/build/debug/errand" "$program"
fi
export ERRAND_PREVIOUS=$program
exec scripts/test.sh --filter PreviousProgramTests
