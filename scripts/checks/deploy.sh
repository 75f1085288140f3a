#!/usr/bin/env bash
# deploy.sh: systemd and Compose take what lies in deploy/ without a word, no unit may do more than it has to, and all of it
# names commands and settings that exist.
set -euo pipefail
cd "$(dirname "$0")/../.."

swift build --product errand --quiet
errand=$(swift build --show-bin-path)/errand
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# A root of its own, so that neither what this host runs nor what it lacks is part of the answer.
root=$work/root
mkdir -p "$root/usr/lib/systemd" "$root/usr/local/bin" "$root/etc/systemd/system"
ln -s usr/lib "$root/lib"
cp -r /lib/systemd/system "$root/usr/lib/systemd/"
install -m 755 /bin/true "$root/usr/local/bin/errand"
cp -r deploy/systemd/. "$root/etc/systemd/system/"
for unit in deploy/systemd/*.{service,target}; do
    unit=$(basename "$unit")
    # What is misspelt is only warned of: any word fails.
    said=$(systemd-analyze verify --man=no --root="$root" "$unit" 2>&1) || said+=" (it ends with $?)"
    [ -z "$said" ] || { echo "systemd-analyze verify $unit: $said"; failed=1; }
    # In tenths of its exposure. What is left: network, Unix sockets, priorities, the host's root, the clock's device.
    case $unit in *.service)
        systemd-analyze security --offline=true --no-pager --root="$root" --threshold=12 "$unit" > "$work/security" 2>&1 \
            || { echo "systemd-analyze security $unit:"; grep -E '✗|→|rror' "$work/security"; failed=1; } ;;
    esac
done

# Compose looks for the files that hold the secrets.
mkdir -p "$work/deploy/compose"
cp deploy/compose/compose.yaml "$work/deploy/compose/"
touch "$work/deploy/compose/"{database,migrate,worker,web}.env
# Debian's own Python: its package python3-yaml is of use to no other.
if (cd "$work/deploy/compose" && docker-compose config > "$work/compose.yaml" 2> "$work/said"); then
    /usr/bin/python3 scripts/checks/deploy.py "$errand" "$work/compose.yaml" || failed=1
else
    cat "$work/said"
    failed=1
fi
exit "$failed"
