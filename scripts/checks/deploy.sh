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

# The schemas of Kubernetes, KEDA and the Prometheus Operator, from PyPI once.
venv=$PWD/.errand/kubernetes
requirements="kubernetes-validate==1.37.0 cloudcoil-models-keda==2.16.1.0 cloudcoil-models-prometheus-operator==0.80.1.0"
if [ "$(cat "$venv/requirements" 2> /dev/null)" != "$requirements" ]; then
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install --quiet --disable-pip-version-check $requirements
    echo "$requirements" > "$venv/requirements"
fi
# Rendered as `kubectl apply --kustomize` does, with the alert rules: what is used of it, and all of it.
manifests=$work/kubernetes
mkdir -p "$manifests"
for folder in base example; do
    scripts/kubectl.sh kustomize "deploy/kubernetes/$folder" > "$manifests/$folder.yaml" || failed=1
done
cp deploy/kubernetes/secrets.example.yaml "$manifests/"
deploy/prometheus/rules.sh --kubernetes https://docs.internal/runbook.html > "$manifests/rules.yaml"
said=$("$venv/bin/kubernetes-validate" --strict --quiet "$manifests"/*.yaml 2>&1) || said+=" (it ends with $?)"
said=$(grep -v '^WARN .* api version \(keda\.sh\|monitoring\.coreos\.com\)/' <<< "$said" || true)
[ -z "$said" ] || { echo "kubernetes-validate: $said"; failed=1; }
"$venv/bin/python" scripts/checks/models.py "$manifests"/*.yaml || failed=1
# Debian's own Python: only it can import the package python3-yaml.
/usr/bin/python3 scripts/checks/kubernetes.py "$manifests" || failed=1

# Compose requires the files of the secrets to exist.
mkdir -p "$work/deploy/compose"
cp deploy/compose/compose.yaml "$work/deploy/compose/"
touch "$work/deploy/compose/"{database,migrate,worker,web}.env
if (cd "$work/deploy/compose" && docker-compose config > "$work/compose.yaml" 2> "$work/said"); then
    /usr/bin/python3 scripts/checks/deploy.py "$work/compose.yaml" "$manifests/base.yaml" || failed=1
else
    cat "$work/said"
    failed=1
fi
exit "$failed"
