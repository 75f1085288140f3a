"""Checks what kustomize makes of deploy/kubernetes against the program, the manual and the alert rules.

    python3 scripts/checks/kubernetes.py FOLDER

FOLDER has example.yaml, the rendered example; secrets.example.yaml; and rules.yaml, the alert rules. Prints
`object: problem` for each finding. The exit code is 1 if there is one.
"""

import re
import sys
from pathlib import Path

import yaml

from program import KNOWN, SETTINGS, VERSION, commands, errand, processes, stops

FOLDER = Path(sys.argv[1])
MANUAL = Path("docs/deploy/kubernetes.md")
RULES = Path("deploy/prometheus/errand.rules.yaml")
ROUTES = Path("Sources/Web/Web.swift").read_text()
IMAGE_USER = int(re.search(r"^USER (\d+):", Path("deploy/container/Containerfile").read_text(), re.MULTILINE)[1])


def manifests():
    """Each object of the example, its Secrets and its alert rules, with a name for it."""
    for name in ("example", "secrets.example", "rules"):
        for thing in yaml.safe_load_all(Path(FOLDER, f"{name}.yaml").read_text()):
            yield f"deploy/kubernetes: {thing['kind']} {thing['metadata']['name']}", thing


def missing(path, what, thing, wanted):
    """The fields that a part of a manifest has to have, with their values."""
    for field, value in wanted.items():
        if (thing or {}).get(field) != value:
            yield f"{path}: {what}.{field}: expected {value}, got {(thing or {}).get(field)}"


def pod(path, template, secrets):
    """A pod starts a command with settings that exist, without rights that it doesn't need, and stops in time."""
    spec = template["spec"]
    container, = spec["containers"]
    words = container["args"]
    yield from commands(path, [words])
    yield from stops(path, words, str(spec.get("terminationGracePeriodSeconds", 30)))
    # The example replaces the name alone.
    if container["image"] != f"registry.internal/errand:{VERSION}":
        yield f"{path}: expected the image registry.internal/errand:{VERSION}, got {container['image']}"
    own = {line["name"]: line.get("value") for line in container.get("env", [])}
    for source in container.get("envFrom", []):
        name = source["secretRef"]["name"]
        if name not in secrets:
            yield f"{path}: takes the Secret {name}, which secrets.example.yaml lacks"
        own |= secrets.get(name, {})
    for name in own:
        if name not in KNOWN:
            yield f"{path}: sets {name}, which is not a setting"
    result = errand("config", **{name: value for name, value in own.items() if value is not None})
    if result.returncode != 0:
        yield f"{path}: {result.stderr.strip()}"
    yield from missing(path, "spec", spec, {"automountServiceAccountToken": False, "enableServiceLinks": False})
    yield from missing(path, "securityContext", spec.get("securityContext"), {
        "runAsNonRoot": True, "runAsUser": IMAGE_USER, "seccompProfile": {"type": "RuntimeDefault"}})
    yield from missing(path, "container's securityContext", container.get("securityContext"), {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})
    if "limits" not in container.get("resources", {}):
        yield f"{path}: {words[0]} has no limits"
    if words[0] in processes():
        port, = (port for port in container["ports"] if port["name"] == "http")
        if str(port["containerPort"]) != own["ERRAND_WEB_ADDRESS"].rsplit(":", 1)[1]:
            yield f"{path}: the port is {port['containerPort']}, and ERRAND_WEB_ADDRESS {own['ERRAND_WEB_ADDRESS']}"
        for probe, route in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            yield from missing(path, probe, container[probe]["httpGet"], {"path": route, "port": "http"})
            if f'router.get("{route[1:]}")' not in ROUTES:
                yield f"{path}: the program serves no {route}"


def scaling(path, thing, deployments, secrets, authentications):
    """KEDA scales the workers by the manual's query, with a user that a Secret has."""
    spec = thing["spec"]
    if thing["kind"] == "TriggerAuthentication":
        for line in spec["secretTargetRef"]:
            if line["parameter"] != "connection" or line["key"] not in secrets.get(line["name"], {}):
                yield f"{path}: no Secret has {line}"
        return
    if spec["scaleTargetRef"] != {"name": "errand-worker"} or "errand-worker" not in deployments:
        yield f"{path}: scales {spec['scaleTargetRef']}"
    if not 1 <= spec["minReplicaCount"] <= spec["maxReplicaCount"]:
        yield f"{path}: from {spec['minReplicaCount']} to {spec['maxReplicaCount']} pods"
    for trigger in spec["triggers"]:
        metadata = trigger["metadata"]
        # The schema takes any name here.
        if set(metadata) != {"query", "targetQueryValue"}:
            yield f"{path}: the trigger has {sorted(metadata)}"
        if trigger["type"] != "postgresql" or trigger["authenticationRef"] != {"name": authentications[0]}:
            yield f"{path}: a trigger {trigger['type']} with {trigger['authenticationRef']}"
        if not all(isinstance(value, str) for value in metadata.values()):
            yield f"{path}: KEDA takes only strings as metadata"
        slots = ",".join("=".join(pair) for pair in re.findall(r"\('(\w+)', (\d+)\)", metadata["query"]))
        if slots != SETTINGS["ERRAND_QUEUES"]:
            yield f"{path}: the query has the slots {slots}, and ERRAND_QUEUES {SETTINGS['ERRAND_QUEUES']}"
        # A test runs the manual's SQL, so it is enough that the manifest has the same.
        flat = lambda text: " ".join(text.split())
        if flat(metadata["query"]) not in flat(MANUAL.read_text()):
            yield f"{path}: {MANUAL} has another query"


def selected(selector, labels):
    """Whether a selector of labels selects an object with these."""
    return (selector.get("matchLabels", {}).items() <= labels.items()
            and all(part["operator"] == "In" and labels.get(part["key"]) in part["values"]
                    for part in selector.get("matchExpressions", [])))


def monitored(path, thing, pods):
    """The scraped port is one of the pods', and the job is the one that the alert rules name."""
    spec = thing["spec"]
    for endpoint in spec["podMetricsEndpoints"]:
        if endpoint["path"] != "/metrics" or f'router.get("{endpoint["path"][1:]}")' not in ROUTES:
            yield f"{path}: the program serves no {endpoint['path']}"
        for pod in pods:
            if selected(spec["selector"], pod["metadata"]["labels"]):
                job, (container,) = pod["metadata"]["labels"].get(spec["jobLabel"]), pod["spec"]["containers"]
                if endpoint["port"] not in [port["name"] for port in container["ports"]]:
                    yield f"{path}: no port of {container['name']} is called {endpoint['port']}"
                if not all(re.fullmatch(rule, job) for rule in re.findall(r'job=~"(.*?)"', RULES.read_text())):
                    yield f"{path}: the rules have no job {job}"


def kubernetes():
    things = list(manifests())
    of = lambda kind: {thing["metadata"]["name"]: (path, thing) for path, thing in things if thing["kind"] == kind}
    secrets = {name: thing["stringData"] for name, (_, thing) in of("Secret").items()}
    deployments, started, pods, services = of("Deployment"), set(), [], []
    for name, values in secrets.items():
        for key in set(values) - KNOWN:
            yield f"deploy/kubernetes: the Secret {name} sets {key}, which is not a setting"
    for path, thing in things:
        if thing["kind"] in ("Secret", "PrometheusRule"):
            continue
        # What docs/deploy/kubernetes.md applies by the labels: first the Jobs, then the rest.
        wanted = "errand-setup" if thing["kind"] == "Job" else "errand"
        yield from missing(path, "labels", thing["metadata"].get("labels"), {"app.kubernetes.io/name": wanted})
        yield from missing(path, "metadata", thing["metadata"], {"namespace": "errand"})
    for path, thing in [*deployments.values(), *of("Job").values()]:
        template = thing["spec"]["template"]
        pods.append(template)
        started.add(template["spec"]["containers"][0]["args"][0])
        yield from pod(path, template, secrets)
        if thing["kind"] == "Deployment":
            services.append(template)
            if thing["spec"]["selector"]["matchLabels"] != template["metadata"]["labels"]:
                yield f"{path}: its selector is not its pods' labels"
    for kind, at, candidates in [("Service", "selector", services), ("PodDisruptionBudget", "selector", services),
                                 ("NetworkPolicy", "podSelector", pods), ("PodMonitor", "selector", services)]:
        for path, thing in of(kind).values():
            selector = thing["spec"][at]
            selector = selector if kind != "Service" else {"matchLabels": selector}
            if not any(selected(selector, template["metadata"]["labels"]) for template in candidates):
                yield f"{path}: selects no pod"
    yield from policies([thing["spec"] for _, thing in of("NetworkPolicy").values()], pods)
    for path, thing in of("PodMonitor").values():
        yield from monitored(path, thing, services)
    if {name for name, (_, thing) in of("PodDisruptionBudget").items()} != set(deployments):
        yield "deploy/kubernetes: not each Deployment has a PodDisruptionBudget of its name"
    if started != processes() | {"migrate", "storage"}:
        yield f"deploy/kubernetes: starts {sorted(started)}, the Procfile {sorted(processes())}"
    for path, thing in things:
        if thing["apiVersion"].startswith("keda.sh/"):
            yield from scaling(path, thing, deployments, secrets, list(of("TriggerAuthentication")))
    rules, = of("PrometheusRule").values()
    # As deploy.sh has it made.
    linked = RULES.read_text().replace("docs/runbook.md", "https://docs.internal/runbook.html")
    if rules[1]["spec"] != yaml.safe_load(linked):
        yield f"{rules[0]}: has other rules than {RULES}"


def policies(specs, pods):
    """Each pod may ask for names and reach PostgreSQL; only those that use the store or the network may do more."""
    for template in pods:
        labels, ports = template["metadata"]["labels"], set()
        for spec in specs:
            if selected(spec["podSelector"], labels):
                ports |= {port["port"] for rule in spec["egress"] for port in rule["ports"]}
        component = labels["app.kubernetes.io/component"]
        wanted = {53, 5432} | ({443} if component in ("worker", "storage") else set())
        if ports != wanted:
            yield f"deploy/kubernetes: pods of {component} reach the ports {sorted(ports)}, expected {sorted(wanted)}"


if __name__ == "__main__":
    findings = list(kubernetes())
    print("\n".join(findings), end="\n" if findings else "")
    sys.exit(1 if findings else 0)
