"""The processes of a test: Errand's, on free ports, and a Prometheus that scrapes them."""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path

FOLDER = Path(".errand/alerts")
BINARIES = Path(os.environ["ERRAND_BIN"])
URL = os.environ["ERRAND_CLUSTER_URL"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def sql(statement, url=URL):
    """The rows of a statement, without alignment. Runs as the owner of the database."""
    run = subprocess.run(["psql", url, "-XAtqv", "ON_ERROR_STOP=1", "-c", statement], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{statement}: {run.stderr}")
    return run.stdout.strip()


class Process:
    """A process of Errand that can be stopped, killed, suspended and started again, always on the same port."""

    def __init__(self, command, user="errand_runs", **settings):
        self.command, self.port, self.program = command, free_port(), None
        database = re.sub(r"\buser=\w+", f"user={user}", URL)
        self.settings = {
            "DATABASE_URL": database, "ERRAND_WEB_ADDRESS": f"127.0.0.1:{self.port}", "ERRAND_LOG_FORMAT": "json",
            "STORAGE_URL": str((FOLDER / "storage").absolute()), "ERRAND_GRACE": "1s", "ERRAND_LEASE": "3s",
            "ERRAND_HEARTBEAT_INTERVAL": "1s", **settings}

    def start(self, **settings):
        self.log = (FOLDER / f"{self.command}.log").open("a")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ERRAND_")}
        self.program = subprocess.Popen(
            [BINARIES / "errand", self.command], env={**inherited, **self.settings, **settings}, stderr=self.log,
            stdout=self.log)

    def is_running(self):
        return self.program is not None and self.program.poll() is None

    def send(self, number):
        self.program.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        if self.is_running():
            self.program.send_signal(number)
            self.program.send_signal(signal.SIGCONT)
            self.program.wait(20)

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            return response.read().decode()


class Prometheus:
    """A Prometheus with the shortened rules. It scrapes and evaluates each second."""

    def __init__(self, rules, targets):
        self.port = free_port()
        self.folder = FOLDER / "prometheus"
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "rules.yaml").write_text(rules)
        targets = ", ".join(f'"127.0.0.1:{port}"' for port in targets)
        (self.folder / "prometheus.yaml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
            "rule_files: [rules.yaml]\n"
            f"scrape_configs: [{{job_name: errand, static_configs: [{{targets: [{targets}]}}]}}]\n")
        program = "prometheus" if os.path.exists("/usr/bin/prometheus") else ".errand/prometheus/usr/bin/prometheus"
        self.program = subprocess.Popen(
            [program, f"--config.file={self.folder}/prometheus.yaml", f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=error"],
            stderr=(self.folder / "log").open("w"))
        deadline = time.monotonic() + 60
        while not self.is_ready():
            if time.monotonic() > deadline:
                raise RuntimeError(f"Prometheus does not start: {(self.folder / 'log').read_text()}")
            time.sleep(0.2)

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=2).status == 200
        except OSError:
            return False

    def api(self, path, **arguments):
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(address, timeout=10) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{arguments}: {error.read().decode()}") from error

    def alerts(self, *states):
        """The names of the alerts in one of these states: pending or firing."""
        return {alert["labels"]["alertname"] for alert in self.api("alerts")["alerts"] if alert["state"] in states}

    def stop(self):
        self.program.terminate()
        self.program.wait(20)
