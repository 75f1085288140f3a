#!/usr/bin/env bash
# test-previous.sh [COMMIT]: tests the last released program and this one side by side on one database, under load.
#
# The old program, or that of COMMIT, is built from the git history, in debug mode, which takes a third of the time.
# Before the first release, this program plays it, under the name errand-before.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database test
commit=${1:-$(sed -n 's/^# [^ ]* //p' scripts/released.txt | tail -n 1)}
if [ -n "$commit" ]; then
    ERRAND_PREVIOUS=$(scripts/commit.sh debug "$commit")/errand
else
    ERRAND_PREVIOUS=$(scripts/build.sh debug --product errand)/errand-before
    ln -sf errand "$ERRAND_PREVIOUS"
fi
export ERRAND_PREVIOUS
exec scripts/test.sh --filter PreviousProgramTests
