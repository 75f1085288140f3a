#!/usr/bin/env bash
# deploy.sh: checks deploy/. systemd, Compose and the schemas of Kubernetes accept its files without a warning. Each
# unit has only the rights that it needs, and all commands and settings exist.
set -euo pipefail
cd "$(dirname "$0")/../.."

errand=$ERRAND_BIN/errand
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# Only errand-image reads pictures.
if readelf --dynamic "$errand" | grep libvips; then echo "errand: expected no library that reads pictures"; failed=1; fi

# A separate root, so that the units of this host affect no result.
root=$work/root
mkdir -p "$root/usr/lib/systemd" "$root/usr/local/bin" "$root/etc/systemd/system"
ln -s usr/lib "$root/lib"
cp -r /lib/systemd/system "$root/usr/lib/systemd/"
install -m 755 /bin/true "$root/usr/local/bin/errand"
cp -r deploy/systemd/. "$root/etc/systemd/system/"
for unit in deploy/systemd/*.{service,target}; do
    unit=$(basename "$unit")
    # systemd only warns of a misspelt setting, so any output fails.
    said=$(systemd-analyze verify --man=no --root="$root" "$unit" 2>&1) || said+=" (it ends with $?)"
    [ -z "$said" ] || { echo "systemd-analyze verify $unit: $said"; failed=1; }
    # In tenths of the exposure level. The rest: network, Unix sockets, priorities, the host's root, the clock's device.
    case $unit in *.service)
        systemd-analyze security --offline=true --no-pager --root="$root" --threshold=12 "$unit" > "$work/security" 2>&1 \
            || { echo "systemd-analyze security $unit:"; grep -E '✗|→|rror' "$work/security"; failed=1; } ;;
    esac
done

# The schemas of Kubernetes, from PyPI once. They have none of KEDA's: deploy.py knows its fields.
venv=$PWD/.errand/kubernetes
requirement=kubernetes-validate==1.37.0
if [ "$(cat "$venv/requirement" 2> /dev/null)" != "$requirement" ]; then
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$requirement"
    echo "$requirement" > "$venv/requirement"
fi
said=$("$venv/bin/kubernetes-validate" --strict --quiet deploy/kubernetes/*.yaml 2>&1) || said+=" (it ends with $?)"
said=$(grep -v '^WARN .* api version keda\.sh/' <<< "$said" || true)
[ -z "$said" ] || { echo "kubernetes-validate: $said"; failed=1; }

# Compose requires the files of the secrets to exist.
mkdir -p "$work/deploy/compose"
cp deploy/compose/compose.yaml "$work/deploy/compose/"
touch "$work/deploy/compose/"{database,migrate,worker,web}.env
# Debian's own Python: only it can import the package python3-yaml.
if (cd "$work/deploy/compose" && docker-compose config > "$work/compose.yaml" 2> "$work/said"); then
    /usr/bin/python3 scripts/checks/deploy.py "$errand" "$work/compose.yaml" || failed=1
else
    cat "$work/said"
    failed=1
fi
exit "$failed"
