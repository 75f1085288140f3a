"""Checks objects of Kubernetes whose schemas kubernetes-validate lacks: prints `file: problem` for each finding.

    python scripts/checks/models.py FILE...

The models are those of cloudcoil, made from the definitions of KEDA and of the Prometheus Operator. They drop a field
that they don't know, so an object that is valid comes out of its model as it went in. The exit code is 1 if one doesn't.
"""

import sys
from pathlib import Path

import yaml
from cloudcoil.models.keda import v1alpha1 as keda
from cloudcoil.models.prometheus_operator import v1 as prometheus

MODELS = {"keda.sh/v1alpha1": keda, "monitoring.coreos.com/v1": prometheus}


def differences(given, kept, at=""):
    """Where two values differ."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for key in given:
            yield from differences(given[key], kept.get(key), f"{at}.{key}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for index, pair in enumerate(zip(given, kept)):
            yield from differences(*pair, f"{at}[{index}]")
    elif given != kept:
        yield f"{at[1:]}: expected {kept!r}, got {given!r}"


def findings(path):
    for thing in yaml.safe_load_all(Path(path).read_text()):
        if module := MODELS.get(thing["apiVersion"]):
            name = f"{path}: {thing['kind']} {thing['metadata']['name']}"
            try:
                model = getattr(module, thing["kind"]).model_validate(thing)
            except (AttributeError, ValueError) as error:
                yield f"{name}: {error}"
                continue
            for problem in differences(thing, model.model_dump(mode="json", by_alias=True, exclude_unset=True)):
                yield f"{name}: {problem}"


if __name__ == "__main__":
    found = [finding for path in sys.argv[1:] for finding in findings(path)]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
