#!/usr/bin/env bash
# released.sh: keeps the promise that what was released of the schema never changes.
#
#   released.sh check          fails where a released migration or versioned function was edited or removed, and where a
#                              new migration drops a function that may be in use
#   released.sh fix SCRIPT     records a released function as it is now: same arguments, effect and result, but fixed
#   released.sh add NEXT       records the scripts of this commit as released, and raises the version of the program to NEXT
#
# scripts/released.txt has a line `# VERSION COMMIT` a release, and below it the sha256 of what that release brought.
set -euo pipefail
cd "$(dirname "$0")/.."

list=scripts/released.txt
argument=${2:-}

# What workers of an older program rest on: migrations, and functions with a version in their name.
scripts() { git ls-files -- 'sql/**/migrations/*.sql' 'sql/**/functions/**/*_v[0-9]*.sql' 'sql/**/functions/*_v[0-9]*.sql' | sort -u; }

check() {
    local found=0 hash script
    while read -r hash script; do
        [ "$hash" != '#' ] || continue
        if [ ! -f "$script" ]; then
            echo "$script: is released, and gone: programs that run may still call it"
            found=1
        elif [ "$(sha256sum < "$script")" != "$hash  -" ]; then
            echo "$script: is released, and was edited: restore it, and put the change into the next migration or _vN (or fix it)"
            found=1
        fi
    done < "$list"
    # Before the first release there is no program that a migration could break.
    [ -s "$list" ] || return "$found"
    # Between the migrations and the functions there is a moment, and whoever calls one that is gone then gets an error.
    for script in sql/engine/migrations/*.sql sql/apps/*/migrations/*.sql; do
        grep -qF "  $script" "$list" && continue
        if grep -qi '^ *drop function' "$script" && ! grep -q '^-- errand: breaks programs before ' "$script"; then
            echo "$script: drops a function: have the function's own file do so, or say which programs it breaks"
            found=1
        fi
    done
    return "$found"
}

# What callers see of a script's functions.
contract() { sed -n '/^create or replace function/,/^language/p'; }

fix() {
    local script=$argument commit hash
    # The commit of the release that brought it.
    commit=$(awk -v script="$script" '$1 == "#" { commit = $3 } $2 == script { print commit }' "$list")
    [[ -n $commit && $script == sql/*/functions/* ]] \
        || { echo "released.sh fix: expected a released function's script, got '$script'" >&2; exit 64; }
    [ "$(git show "$commit:$script" | contract)" = "$(contract < "$script")" ] \
        || { echo "released.sh fix: $script: arguments, result or language changed: that is a new _vN" >&2; exit 1; }
    hash=$(sha256sum < "$script")
    sed -i "s|^[0-9a-f]*  $script\$|${hash%% *}  $script|" "$list"
    echo "$script is recorded as it is now: say in the commit why older programs may call it"
}

add() {
    local version next=$argument
    version=$(sed -n 's/.*static let version = "\(.*\)"/\1/p' sql/engine/EngineSchema.swift)
    [[ $next =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "released.sh add: expected the next version, such as 0.2.0" >&2; exit 64; }
    [ "$next" != "$version" ] && [ "$(printf '%s\n' "$version" "$next" | sort -V | tail -n 1)" = "$next" ] \
        || { echo "released.sh add: $next is no newer version than $version" >&2; exit 64; }
    [ -z "$(git status --porcelain -- sql)" ] || { echo "released.sh add: sql/ has changes that are in no commit" >&2; exit 1; }
    check
    {
        echo "# $version $(git rev-parse HEAD)"
        scripts | while read -r script; do grep -qF "  $script" "$list" || sha256sum "$script"; done
    } > "$list.new"
    cat "$list.new" >> "$list"
    rm "$list.new"
    sed -i "s/\(static let version = \)\".*\"/\1\"$next\"/" sql/engine/EngineSchema.swift
    echo "$version is entered in $list, and the program is $next from now on: commit both, and tag HEAD v$version"
}

touch "$list"
case ${1:-} in
    check) check ;;
    fix) fix ;;
    add) add ;;
    *) sed -n '4,7s/^# *//p' "$0" >&2; exit 64 ;;
esac
