#!/usr/bin/env bash
# bench-before.sh COMMIT: builds Errand of that commit as a contender of the benchmark,
# and prints the folder of its programs.
#
# The contender's own code is today's, so it knows all scenarios; the library is that commit's. A second call builds
# nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

commit=$(git rev-parse --verify --quiet "$1^{commit}") || {
    echo "bench-before.sh: $1 is no commit of this clone" >&2
    exit 64
}
folder=$PWD/.build-benchmarks/before-$commit
source=$PWD/.build-benchmarks/before-source
if [ ! -x "$folder/errand-contender" ]; then
    programs=$(scripts/commit.sh release "$commit")
    rm -rf "$source"
    git clone --quiet --no-checkout . "$source"
    git -C "$source" checkout --quiet "$commit"
    rm -rf "$source/Benchmarks"
    cp -r Benchmarks "$source/"
    scratch=$PWD/.build-benchmarks/before-build
    (cd "$source" && swift build --configuration release --static-swift-stdlib --quiet \
        --package-path Benchmarks --scratch-path "$scratch" --product errand-contender) >&2
    mkdir -p "$folder"
    cp "$programs/errand" "$programs/errand-image" "$scratch/release/errand-contender" "$folder/"
    rm -rf "$source"
fi
echo "$folder"
