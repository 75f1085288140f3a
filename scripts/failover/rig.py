"""Three hosts with PostgreSQL, Patroni and etcd, each in a network namespace of its own, on one bridge.

The configuration is that of deploy/patroni; only addresses and passwords are the rig's.
"""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import psycopg2

DEPLOY = Path(__file__).resolve().parents[2] / "deploy/patroni"
PASSWORD = "rig"
PROXY = "10.0.0.254"


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def environment(file, host):
    """The variables of a file of deploy/patroni, with the address and the passwords of a host of the rig."""
    lines = (line for line in file.read_text().splitlines() if "=" in line and not line.startswith("#"))
    values = dict(line.split("=", 1) for line in lines)
    own = re.compile(r"^10\.0\.0\.1(?=:)|(?<=^http://)10\.0\.0\.1(?=:)")
    several = ("PATRONI_ETCD_HOSTS", "ETCD_INITIAL_CLUSTER")
    return {name: value if name in several else own.sub(host.address, value).replace("…", PASSWORD)
            for name, value in values.items()}


class Host:
    """One host: its namespace, and its processes."""

    def __init__(self, number, folder):
        self.name = f"db{number}"
        self.address = f"10.0.0.{number}"
        self.folder = folder / self.name
        self.processes = {}

    def make(self):
        self.folder.mkdir()
        run("chown", "postgres", str(self.folder))
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", self.name, "master", "bridge", "up")
        self.inside("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.inside("ip", "link", "set", "eth0", "up")
        self.inside("ip", "link", "set", "lo", "up")

    def inside(self, *words):
        return run("ip", "netns", "exec", self.name, *words)

    def start(self, program, words, variables, user="postgres"):
        """Starts a process on this host, in a session of its own."""
        words = ["ip", "netns", "exec", self.name, "runuser", "-u", user, "--", *words]
        log = open(self.folder / f"{program}.log", "ab")
        path = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.processes[program] = subprocess.Popen(
            words, env={**path, **variables}, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            cwd="/")

    def start_etcd(self):
        self.start("etcd", ["etcd"], {**environment(DEPLOY / "etcd.env", self),
                                      "ETCD_NAME": self.name, "ETCD_DATA_DIR": str(self.folder / "etcd"),
                                      "ETCD_LOG_LEVEL": "warn"})

    def start_patroni(self):
        variables = environment(DEPLOY / "patroni.env", self)
        variables |= {"PATRONI_NAME": self.name, "PATRONI_POSTGRESQL_DATA_DIR": str(self.folder / "data"),
                      "PATRONI_POSTGRESQL_PGPASS": str(self.folder / "pgpass")}
        self.start("patroni", ["patroni", str(self.folder / "patroni.yml")], variables)

    def write_configuration(self):
        """deploy/patroni/patroni.yml, with a folder for the Unix socket: it crosses namespaces, so it is reached in
        any partition."""
        text = (DEPLOY / "patroni.yml").read_text()
        text = text.replace("  parameters:\n    password",
                            f"  parameters:\n    unix_socket_directories: {self.folder}\n    password")
        (self.folder / "patroni.yml").write_text(text)

    def pids(self, name):
        """The processes of this host's namespace with that command name."""
        pids = run("ip", "netns", "pids", self.name).split()
        return [int(pid) for pid in pids if Path(f"/proc/{pid}/comm").exists()
                and Path(f"/proc/{pid}/comm").read_text().strip() == name]

    def kill_postmaster(self):
        pid = int((self.folder / "data/postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

    def kill(self, name):
        for pid in self.pids(name):
            os.kill(pid, signal.SIGKILL)

    def cut(self):
        run("ip", "link", "set", self.name, "down")

    def reconnect(self):
        run("ip", "link", "set", self.name, "up")

    def connect(self, timeout=2):
        return psycopg2.connect(host=str(self.folder), user="postgres", password=PASSWORD, dbname="errand",
                                connect_timeout=timeout, options="-c statement_timeout=3s")

    def has_database(self):
        try:
            self.connect().close()
            return True
        except psycopg2.OperationalError:
            return False

    def rest(self, path, body=None, method=None):
        request = urllib.request.Request(f"http://{self.address}:8008/{path}", method=method,
                                         data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=15) as response:
            return response.read().decode()


class Rig:
    """The cluster of three hosts, and HAProxy on the bridge."""

    def __init__(self, folder):
        self.folder = folder
        self.hosts = [Host(number, folder) for number in (1, 2, 3)]

    def start(self):
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge", "type", "bridge")
        run("ip", "addr", "add", f"{PROXY}/24", "dev", "bridge")
        run("ip", "link", "set", "bridge", "up")
        for host in self.hosts:
            host.make()
            host.write_configuration()
            host.start_etcd()
        for host in self.hosts:
            host.start_patroni()
        names = {f"DB{number}": host.address for number, host in enumerate(self.hosts, 1)}
        self.haproxy = subprocess.Popen(
            ["haproxy", "-db", "-q", "-f", str(DEPLOY / "haproxy.cfg")], env={**os.environ, **names},
            stdout=open(self.folder / "haproxy.log", "wb"), stderr=subprocess.STDOUT)
        self.wait_whole(120)

    def cluster(self):
        for host in self.hosts:
            try:
                return json.loads(host.rest("cluster"))["members"]
            except (OSError, ValueError):
                continue
        return []

    def wait_whole(self, seconds, synchronous=True):
        """Waits until one primary has two streaming replicas, one of them synchronous if asked."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            members = self.cluster()
            roles = sorted(member["role"] for member in members if member["state"] in ("running", "streaming"))
            wanted = ["leader", "replica", "sync_standby"] if synchronous else ["leader", "replica", "replica"]
            lags = [member.get("lag", 0) for member in members]
            if roles == wanted and all(isinstance(lag, int) and lag < 1 << 20 for lag in lags):
                return self.primary()
            time.sleep(0.2)
        raise SystemExit(f"the cluster isn't whole after {seconds} s: {self.cluster()}")

    def primary(self):
        name = next(member["name"] for member in self.cluster() if member["role"] == "leader")
        return next(host for host in self.hosts if host.name == name)

    def configure(self, **settings):
        self.primary().rest("config", settings, "PATCH")

    def url(self, user, route):
        hosts = f"{PROXY}:5000" if route == "haproxy" else ",".join(f"{host.address}:5432" for host in self.hosts)
        return f"postgresql://{user}:{PASSWORD}@{hosts}/errand?target_session_attrs=read-write&sslmode=disable"
