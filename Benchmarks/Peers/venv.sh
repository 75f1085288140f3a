#!/usr/bin/env bash
# venv.sh FOLDER: installs the peers from PyPI into FOLDER, and prints the Python to run them with.
#
# Takes the newest Python from 3.11 to 3.13 that is here, pyenv's included: all of these have wheels of every peer. With 3.11,
# which is Debian 12's, Oban is left out. Does nothing where FOLDER holds these requirements already.
set -euo pipefail
folder=$1
requirements=$(dirname "$0")/requirements.txt

if ! cmp -s "$requirements" "$folder/requirements.txt"; then
    python=
    for version in 3.13 3.12 3.11; do
        for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python3; do
            [ -n "$python" ] || ! "$candidate" -c 'import ensurepip' 2> /dev/null || python=$candidate
        done
    done
    [ -n "$python" ] || { echo "venv.sh: no Python from 3.11 to 3.13 with its venv is here" >&2; exit 69; }
    "$python" -m venv --clear "$folder" >&2
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements" >&2
    cp "$requirements" "$folder/requirements.txt"
fi
echo "$folder/bin/python"
