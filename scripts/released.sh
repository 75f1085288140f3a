#!/usr/bin/env bash
# released.sh: checks that released migrations and versioned functions never change.
#
#   released.sh check          fails where a released migration or versioned function was edited or removed, and where a
#                              new migration drops a function that may be in use
#   released.sh fix SCRIPT     records a fixed released function: same arguments, same effect, same result
#   released.sh add NEXT       records the scripts of this commit as released, and sets the version of the program to NEXT
#
# scripts/released.txt has a line `# VERSION COMMIT` per release, followed by the sha256 of each new script of that
# release, without the lines of its head that declare rights, hidden columns and topics.
set -euo pipefail
cd "$(dirname "$0")/.."

list=scripts/released.txt
argument=${2:-}

# The scripts that workers of an older program depend on: migrations, and functions with a version in their name.
scripts() { git ls-files -- 'sql/**/migrations/*.sql' 'sql/**/functions/**/*_v[0-9]*.sql' 'sql/**/functions/*_v[0-9]*.sql' | sort -u; }

# Rights, hidden columns and topics of help may change without a new version, so their lines don't count.
hash_of() { sed '/^-- errand: \(for\|hides\|topic\) /d' "$1" | sha256sum | cut -d ' ' -f 1; }

# The version of the program, and that of the Python client, which is the same.
version() { sed -n 's/.*static let version = "\(.*\)"/\1/p' sql/engine/EngineSchema.swift; }
python_version() { sed -n 's/^version = "\(.*\)"/\1/p' clients/python/pyproject.toml; }

check() {
    local found=0 hash script
    if [ "$(python_version)" != "$(version)" ]; then
        echo "clients/python/pyproject.toml: expected version $(version), got $(python_version)"
        found=1
    fi
    while read -r hash script; do
        [ "$hash" != '#' ] || continue
        if [ ! -f "$script" ]; then
            echo "$script: is released, and missing: running programs may still call it"
            found=1
        elif [ "$(hash_of "$script")" != "$hash" ]; then
            echo "$script: is released, and was edited: restore it, and put the change into the next migration or _vN (or record a fix: released.sh fix)"
            found=1
        fi
    done < "$list"
    # Before the first release, there is no program that a migration could break.
    [ -s "$list" ] || return "$found"
    # Migrations are applied before functions. A caller of a dropped function fails until the functions are applied.
    for script in sql/engine/migrations/*.sql sql/apps/*/migrations/*.sql; do
        grep -qF "  $script" "$list" && continue
        if grep -qi '^ *drop function' "$script" && ! grep -q '^-- errand: breaks programs before ' "$script"; then
            echo "$script: drops a function: drop it in the function's own file, or say which programs the migration breaks"
            found=1
        fi
    done
    return "$found"
}

# The part of a script that callers of its functions depend on.
contract() { sed -n '/^create or replace function/,/^language/p'; }

fix() {
    local script=$argument commit hash
    # The commit of the release in which the script is new.
    commit=$(awk -v script="$script" '$1 == "#" { commit = $3 } $2 == script { print commit }' "$list")
    [[ -n $commit && $script == sql/*/functions/* ]] \
        || { echo "released.sh fix: expected a released function's script, got '$script'" >&2; exit 64; }
    [ "$(git show "$commit:$script" | contract)" = "$(contract < "$script")" ] \
        || { echo "released.sh fix: $script: arguments, result or language changed: write a new _vN" >&2; exit 1; }
    hash=$(hash_of "$script")
    sed -i "s|^[0-9a-f]*  $script\$|$hash  $script|" "$list"
    echo "$script is recorded: say in the commit why older programs can use the fixed function"
}

add() {
    local version next=$argument
    version=$(version)
    [[ $next =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "released.sh add: expected the next version, such as 0.2.0" >&2; exit 64; }
    [ "$next" != "$version" ] && [ "$(printf '%s\n' "$version" "$next" | sort -V | tail -n 1)" = "$next" ] \
        || { echo "released.sh add: $next is not newer than $version" >&2; exit 64; }
    [ -z "$(git status --porcelain -- sql)" ] || { echo "released.sh add: sql/ has uncommitted changes" >&2; exit 1; }
    check
    {
        echo "# $version $(git rev-parse HEAD)"
        scripts | while read -r script; do
            grep -qF "  $script" "$list" || echo "$(hash_of "$script")  $script"
        done
    } > "$list.new"
    cat "$list.new" >> "$list"
    rm "$list.new"
    sed -i "s/\(static let version = \)\".*\"/\1\"$next\"/" sql/engine/EngineSchema.swift
    sed -i "s/^version = \".*\"/version = \"$next\"/" clients/python/pyproject.toml
    echo "$version is recorded in $list, and the program is now $next: commit both, and tag HEAD v$version"
}

touch "$list"
case ${1:-} in
    check) check ;;
    fix) fix ;;
    add) add ;;
    *) sed -n '4,7s/^# *//p' "$0" >&2; exit 64 ;;
esac
