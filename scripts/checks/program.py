"""What the checks of a deployment know of the program: its commands, its settings, its processes. ERRAND_BIN names the
folder of the program.
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

ERRAND = Path(os.environ["ERRAND_BIN"], "errand").resolve()


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


def memory(text):
    """256Mi, 256m, 256M: as Kubernetes, Compose and systemd write an amount of memory."""
    found = re.fullmatch(r"(\d+)([kmgKMG]?)i?b?", str(text))
    return int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()] if found else None


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


def processes():
    """The parts of a deployment, from the Procfile."""
    return {procfile_words(command, {})[1][-1] for _, command in procfile_lines()}
