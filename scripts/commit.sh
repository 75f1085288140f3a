#!/usr/bin/env bash
# commit.sh debug|release COMMIT [BENCHMARKS]: builds the programs of that commit in a separate clone, and prints their
# folder. A second call builds nothing.
#
# With BENCHMARKS, a folder of the benchmark's sources, the folder also gets its contender ErrandContender: that code on
# the library of the commit.
set -euo pipefail
cd "$(dirname "$0")/.."

configuration=$1
commit=$(git rev-parse --verify --quiet "$2^{commit}") || {
    echo "commit.sh: $2 is no commit of this clone: git fetch --unshallow" >&2
    exit 64
}
all=$PWD/.build-commits
folder=$all/$configuration-$commit
programs=(errand-image errand)
[ -z "${3:-}" ] || programs+=(ErrandContender)
if [ ! -x "$folder/${programs[-1]}" ]; then
    echo "Building $(git log -1 --format='%h, %s' "$commit") in $configuration mode; it takes some minutes." >&2
    rm -rf "$all/source"
    git clone --quiet --no-checkout . "$all/source"
    git -C "$all/source" checkout --quiet "$commit"
    mkdir -p "$folder"
    for program in "${programs[@]}"; do
        package=$all/source build=$all/build
        if [ "$program" = ErrandContender ]; then
            package=$all/contender build=$all/contender-build
            rm -rf "$package"
            mkdir -p "$package/Sources"
            cp -r "$3/Sources/ErrandContender" "$package/Sources/"
            sed "s|@ERRAND@|$all/source|" "$3/before.swift" > "$package/Package.swift"
        fi
        # The build folder of an earlier commit is reused, so only changed files are compiled.
        built=$(scripts/build.sh "$configuration" --quiet --package-path "$package" --scratch-path "$build" \
            --product "$program")
        cp "$built/$program" "$folder/"
    done
    rm -rf "$all/source" "$all/contender"
fi
echo "$folder"
