#!/usr/bin/env bash
# docc.sh: builds the documentation of each product into .build/docc; a warning fails.
set -euo pipefail
cd "$(dirname "$0")/../.."

swift package dump-symbol-graph --minimum-access-level public --skip-synthesized-members > /dev/null
graphs=$ERRAND_BIN/../symbolgraph
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p .build/docc
for product in Errand ErrandTestKit ErrandImages ErrandStorage ErrandPush; do
    mkdir "$work/$product"
    # Errand re-exports Postgres, so its pages include those of Postgres.
    modules=("$product")
    [ "$product" != Errand ] || modules+=(Postgres)
    python3 scripts/checks/docc.py "$graphs" "${modules[@]}" > "$work/$product/$product.symbols.json"
    docc convert "Sources/$product/$product.docc" --additional-symbol-graph-dir "$work/$product" \
        --output-path ".build/docc/$product.doccarchive" --warnings-as-errors
done
