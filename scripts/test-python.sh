#!/usr/bin/env bash
# test-python.sh [ARGUMENT...]: checks the types of the Python client, and runs its tests and docs/python.md on a
# PostgreSQL of their own. The arguments are pytest's, such as -k pooler.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database test s3
folder=.errand/python
packages=(
    asyncpg==0.32.0 cryptography==50.0.2 Django==5.2.19 greenlet==3.5.6 mypy==2.4.1 opentelemetry-sdk==1.45.2 psycopg[binary]==3.3.9
    pytest==9.2.0 SQLAlchemy==2.1.9)
mkdir -p "$folder"
if [ "$(cat "$folder/venv/packages" 2> /dev/null)" != "${packages[*]}" ]; then
    python3 -m venv --clear "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
    echo "${packages[*]}" > "$folder/venv/packages"
fi
ERRAND_BIN=$(realpath "${ERRAND_BIN:-$(scripts/build.sh debug --product errand)}")
export ERRAND_BIN PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/clients/python/src
"$folder/venv/bin/mypy" --config-file clients/python/pyproject.toml --cache-dir "$folder/mypy" clients/python/src
scripts/cluster.sh with --no-sync "$folder/cluster" env --chdir=clients/python \
    "$PWD/$folder/venv/bin/python" -m pytest --quiet -p no:cacheprovider "$@"
