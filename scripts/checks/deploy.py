"""Checks that deploy/ and the Procfile name only commands and settings of the program.

    python3 scripts/checks/deploy.py COMPOSE MANIFESTS

COMPOSE is the output of `docker-compose config` for deploy/compose/compose.yaml, and MANIFESTS what kustomize makes of
deploy/kubernetes/base. ERRAND_BIN names the folder of the program. Prints `file: problem` for each finding. The exit
code is 1 if there is one.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from program import (
    ERRAND, KNOWN, commands, errand, memory, processes, procfile_lines, procfile_words, stops)

COMPOSE, MANIFESTS = sys.argv[1:3]
UNITS = sorted(Path("deploy/systemd").rglob("*.service")) + sorted(Path("deploy/systemd").rglob("*.conf"))
HARDENING = Path("deploy/systemd/errand-.service.d/hardening.conf")
README = Path("deploy/README.md")


def variables():
    """Every word with the prefix of a setting is a setting."""
    prefixes = "|".join(sorted({name.split("_")[0] for name in KNOWN}))
    pattern = re.compile(rf"\b(?:{prefixes})_[A-Z0-9_]+\b")
    for path in [*sorted(Path("deploy").rglob("*")), Path(".containerignore")]:
        if path.is_file():
            for name in sorted(set(pattern.findall(path.read_text())) - KNOWN):
                yield f"{path}: names {name}, which is not a setting"


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


def limits():
    """The memory of each process of the manifests, in bytes."""
    for thing in yaml.safe_load_all(Path(MANIFESTS).read_text()):
        if thing["kind"] in ("Deployment", "Job"):
            container, = thing["spec"]["template"]["spec"]["containers"]
            yield container["args"][0], memory(container["resources"]["limits"]["memory"])


def units():
    started, wanted = set(), dict(limits())
    # What is set there goes before what a unit sets.
    if "MemoryMax" in HARDENING.read_text():
        yield f"{HARDENING}: MemoryMax is each unit's own"
    for path in UNITS:
        text = path.read_text()
        for program, *words in (line.split() for line in re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)):
            started.add(words[0])
            if program != "/usr/local/bin/errand":
                yield f"{path}: starts {program}"
            yield from commands(path, [words])
            limit = re.search(r"^TimeoutStopSec=(.*)$", text, re.MULTILINE)
            yield from stops(path, words, limit[1] if limit else "90s")
            # A worker's depends on the host: ERRAND_MEMORY grows with its processors.
            own = re.findall(r"^MemoryMax=(.*)$", text, re.MULTILINE)
            if len(own) != 1 or words[0] != "worker" and memory(own[0]) != wanted[words[0]]:
                yield f"{path}: expected {wanted[words[0]]} bytes as the manifests have, got MemoryMax={own}"
        for line in re.findall(r"^Environment=(.*)$", text, re.MULTILINE):
            for name in re.findall(r"(\w+)=", line):
                if name not in KNOWN:
                    yield f"{path}: sets {name}, which is not a setting"
    if started != processes() | {"migrate", "storage"}:
        yield f"deploy/systemd: starts {sorted(started)}, the Procfile {sorted(processes())}"


def compose():
    path, wanted = "deploy/compose/compose.yaml", dict(limits())
    everything = yaml.safe_load(Path(COMPOSE).read_text())["services"]
    services = {name: service for name, service in everything.items() if service["image"] == "errand"}
    for name, service in everything.items():
        if "max-size" not in service.get("logging", {}).get("options", {}):
            yield f"{path}: the log of {name} has no limit"
    version = everything["database"]["image"].rsplit(":", 1)[1]
    if f"with PostgreSQL {version}," not in " ".join(Path("README.md").read_text().split()):
        yield f"{path}: README.md names another version than PostgreSQL {version} as tested"
    for service in services.values():
        words = service["command"]
        yield from commands(path, [words])
        yield from stops(path, words, service.get("stop_grace_period", "10s"))
        for name in service.get("environment") or {}:
            if name not in KNOWN:
                yield f"{path}: sets {name}, which is not a setting"
        if memory(service.get("mem_limit")) != wanted.get(words[0]):
            yield f"{path}: {words[0]} has {service.get('mem_limit')} of memory, the manifests {wanted.get(words[0])}"
        if (service["restart"] != "no") != (service.get("entrypoint") == ["bash", "/hold.sh"]):
            yield f"{path}: {words[0]} restarts without hold.sh, or has it without a restart"
    if (started := {service["command"][0] for service in services.values()}) != processes() | {"migrate", "storage"}:
        yield f"{path}: starts {sorted(started)}, the Procfile {sorted(processes())}"


def held():
    """hold.sh goes on after a wrong configuration until it is stopped, and ends with the program otherwise."""
    path, folder = "deploy/compose/hold.sh", str(ERRAND.parent)
    for words, settings, wanted in [(["worker"], {}, 78), (["nonsense"], {}, 64), (["config"], {}, 0),
                                    (["doctor"], {"DATABASE_URL": "postgresql://127.0.0.1:1/app"}, 69)]:
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", **settings}
        process = subprocess.Popen(["bash", Path(path).resolve(), *words], env=environment, text=True,
                                   cwd=tempfile.gettempdir(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if wanted in (64, 78):
            # It is held from here on.
            for line in process.stderr:
                if "is not started again" in line:
                    break
            else:
                yield f"{path}: errand {words[0]} is not held after {wanted}"
            process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            code = "never"
        if code != wanted:
            yield f"{path}: errand {words[0]}: expected {wanted}, got {code}"


def container():
    path = "deploy/container/Containerfile"
    text = Path(path).read_text()
    yield from commands(path, [json.loads(words) for words in re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)])
    for name in re.findall(r"(\w+)=", " ".join(re.findall(r"^ENV (.*)$", text, re.MULTILINE))):
        if name not in KNOWN:
            yield f"{path}: sets {name}, which is not a setting"


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


CHECKS = (variables, procfile, units, compose, held, container, manual)
findings = [finding for check in CHECKS for finding in check()]
print("\n".join(findings))
sys.exit(1 if findings else 0)
