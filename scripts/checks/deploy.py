"""Checks that deploy/ and the Procfile name only commands and settings of the program.

    python3 scripts/checks/deploy.py ERRAND COMPOSE MANIFESTS

ERRAND is the program. COMPOSE is the output of `docker-compose config` for deploy/compose/compose.yaml. MANIFESTS is a
folder with what kustomize makes of deploy/kubernetes. Prints `file: problem` for each finding. The exit code is 1 if
there is one.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ERRAND, COMPOSE, MANIFESTS = sys.argv[1:4]
UNITS = sorted(Path("deploy/systemd").rglob("*.service")) + sorted(Path("deploy/systemd").rglob("*.conf"))
README = Path("deploy/README.md")
KUBERNETES = Path("docs/deploy/kubernetes.md")
RULES = Path("deploy/prometheus/errand.rules.yaml")
ROUTES = Path("Sources/Web/Web.swift").read_text()
IMAGE_USER = int(re.search(r"^USER (\d+):", Path("deploy/container/Containerfile").read_text(), re.MULTILINE)[1])


def errand(*arguments, **settings):
    """Runs the program with these settings and no others."""
    return subprocess.run([ERRAND, *arguments], env={"PATH": os.environ["PATH"], **settings}, cwd=tempfile.gettempdir(),
                          capture_output=True, text=True)


SETTINGS = {line["setting"]: line.get("value") for line in json.loads(errand("config", "--json").stdout)}
VERSION = errand("--version").stdout.strip()
# The lines of the help that begin with a name; what an abstract goes on with stands further in.
COMMANDS = set(re.findall(r"^  ([a-z]+)  +\w", errand("--help").stdout, re.MULTILINE))
# What the program doesn't read itself is libpq's.
KNOWN = set(SETTINGS) | {"ERRAND_CONFIG", "PGSSLMODE", "PGSSLROOTCERT"}


def seconds(text):
    """25s, 2m, 40: as the program, systemd and Compose write a duration."""
    found = re.fullmatch(r"(\d+)(s|m|)", text)
    return int(found[1]) * (60 if found[2] == "m" else 1) if found else 0


# The longest stop: the grace of running jobs, and 2 s to release the unfinished ones.
DRAIN = seconds(SETTINGS["ERRAND_GRACE"]) + 2


def commands(path, lines):
    """Each command is one of the program's."""
    for words in lines:
        if words[0] not in COMMANDS:
            yield f"{path}: errand has no command {words[0]}"


def stops(path, words, limit):
    """The stop timeout is longer than the drain of a worker."""
    if words[0] in ("worker", "run") and seconds(limit) <= DRAIN:
        yield f"{path}: errand {words[0]} is killed after '{limit}', and may take {DRAIN} s to stop"


def variables():
    """Every word with the prefix of a setting is a setting."""
    prefixes = "|".join(sorted({name.split("_")[0] for name in KNOWN}))
    pattern = re.compile(rf"\b(?:{prefixes})_[A-Z0-9_]+\b")
    for path in [*sorted(Path("deploy").rglob("*")), Path(".containerignore")]:
        if path.is_file():
            for name in sorted(set(pattern.findall(path.read_text())) - KNOWN):
                yield f"{path}: names {name}, which is not a setting"


def procfile_lines():
    """Each process: its name and its line."""
    for line in Path("Procfile").read_text().splitlines():
        name, _, command = line.partition(": ")
        yield name, command


def procfile_words(command, shared):
    """The settings and the command of a line, as a runner's shell reads it with these variables."""
    words = subprocess.run(["sh", "-c", f"printf '%s\\n' {command}"], env={"PATH": os.environ["PATH"], **shared},
                           check=True, capture_output=True, text=True).stdout.splitlines()
    own = {}
    if words[:1] == ["env"]:
        words = words[1:]
        while words and "=" in words[0]:
            key, value = words.pop(0).split("=", 1)
            own[key] = value
    return own, words


def procfile():
    """No two processes share an address: with the ports of a runner, with one address in .env, with neither."""
    for what, variables, copies in [("without PORT", {}, 1), ("with PORT", {}, 2),
                                    ("with one ERRAND_WEB_ADDRESS", {"ERRAND_WEB_ADDRESS": "127.0.0.1:9090"}, 1)]:
        port, listening = 5000, {}
        for name, command in procfile_lines():
            for number in range(copies):
                shared = {**variables, "PORT": str(port + number)} if what == "with PORT" else variables
                own, words = procfile_words(command, shared)
                if words[:1] != ["errand"]:
                    yield f"Procfile: expected `name: errand command`, got {name}: {command}"
                    return
                for key in own:
                    if key not in KNOWN:
                        yield f"Procfile: sets {key}, which is not a setting"
                config = json.loads(errand("config", "--json", **{**variables, **own}).stdout)
                address = next(line["value"] for line in config if line["setting"] == "ERRAND_WEB_ADDRESS")
                if address != "off":
                    listening.setdefault(address, []).append(name)
            # As foreman and honcho number them.
            port += 100
        for address, names in listening.items():
            if len(names) > 1:
                yield f"Procfile: {what}, {names} listen at {address}"
        if {name for names in listening.values() for name in names} != {"web"}:
            yield f"Procfile: {what}, {listening} listen, and only web should"
    yield from commands("Procfile", [procfile_words(command, {})[1][1:] for _, command in procfile_lines()])


def processes():
    """The parts of a deployment, from the Procfile."""
    return {procfile_words(command, {})[1][-1] for _, command in procfile_lines()}


def units():
    started = set()
    for path in UNITS:
        text = path.read_text()
        for program, *words in (line.split() for line in re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)):
            started.add(words[0])
            if program != "/usr/local/bin/errand":
                yield f"{path}: starts {program}"
            yield from commands(path, [words])
            limit = re.search(r"^TimeoutStopSec=(.*)$", text, re.MULTILINE)
            yield from stops(path, words, limit[1] if limit else "90s")
        for line in re.findall(r"^Environment=(.*)$", text, re.MULTILINE):
            for name in re.findall(r"(\w+)=", line):
                if name not in KNOWN:
                    yield f"{path}: sets {name}, which is not a setting"
    if started != processes() | {"migrate", "storage"}:
        yield f"deploy/systemd: starts {sorted(started)}, the Procfile {sorted(processes())}"


def compose():
    path = "deploy/compose/compose.yaml"
    services = {name: service for name, service in yaml.safe_load(Path(COMPOSE).read_text())["services"].items()
                if service["image"] == "errand"}
    for service in services.values():
        words = service["command"]
        yield from commands(path, [words])
        yield from stops(path, words, service.get("stop_grace_period", "10s"))
        for name in service.get("environment") or {}:
            if name not in KNOWN:
                yield f"{path}: sets {name}, which is not a setting"
    if (started := {service["command"][0] for service in services.values()}) != processes() | {"migrate", "storage"}:
        yield f"{path}: starts {sorted(started)}, the Procfile {sorted(processes())}"


def container():
    path = "deploy/container/Containerfile"
    text = Path(path).read_text()
    yield from commands(path, [json.loads(words) for words in re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)])
    for name in re.findall(r"(\w+)=", " ".join(re.findall(r"^ENV (.*)$", text, re.MULTILINE))):
        if name not in KNOWN:
            yield f"{path}: sets {name}, which is not a setting"


def manifests():
    """Each object of the example, its Secrets and its alert rules, with a name for it."""
    for name in ("example", "secrets.example", "rules"):
        for thing in yaml.safe_load_all(Path(MANIFESTS, f"{name}.yaml").read_text()):
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
        if flat(metadata["query"]) not in flat(KUBERNETES.read_text()):
            yield f"{path}: {KUBERNETES} has another query"


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
                if f'job="{job}"' not in RULES.read_text():
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
    flat = json.dumps(yaml.safe_load(RULES.read_text())["groups"]).replace("docs/runbook.md", "https://docs.internal/runbook.html")
    if json.dumps(rules[1]["spec"]["groups"]) != flat:
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


def manual():
    """The README's commands and settings work as they are."""
    text = README.read_text()
    inline = re.findall(r"`errand ([a-z]+)", text)
    yield from commands(README, [[word] for word in sorted(set(inline))])
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language == "sh":
            words = re.findall(r"(?:^|[ /])errand ([a-z]+)(?= |$)", block, re.MULTILINE)
            yield from commands(README, [[word] for word in sorted(set(words))])
        if language == "json":
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(block)
                file.flush()
                result = errand("config", ERRAND_CONFIG=file.name)
                if result.returncode != 0:
                    yield f"{README}: {result.stderr.strip()}"


CHECKS = (variables, procfile, units, compose, container, kubernetes, manual)
findings = [finding for check in CHECKS for finding in check()]
print("\n".join(findings))
sys.exit(1 if findings else 0)
