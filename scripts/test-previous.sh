#!/usr/bin/env bash
# test-previous.sh [COMMIT]: tests the last released program and this one side by side on one database, under load.
#
# The old program, or that of COMMIT, is built from the git history, in debug mode, which takes a third of the time.
# Before the first release, a stand-in replaces it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database test
commit=${1:-$(sed -n 's/^# [^ ]* //p' scripts/released.txt | tail -n 1)}
programs=$(scripts/commit.sh debug ${commit:-HEAD --stand-in})
export ERRAND_PREVIOUS=$programs/errand
exec scripts/test.sh --filter PreviousProgramTests
