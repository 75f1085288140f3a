#!/usr/bin/env bash
# checkout.sh: builds the committed files if this folder has others. Otherwise the build here is that of a checkout.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ -n "$(git status --porcelain)" ] || exit 0
exec scripts/commit.sh debug HEAD
