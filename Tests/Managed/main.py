"""Migrates a database, examines it and runs jobs as a login such as a managed PostgreSQL gives.

    main.py PROGRAM BIN

PROGRAM is `errand`. BIN has the programs of a PostgreSQL, of which this starts a server. The login may create roles and
databases, and is no superuser. All of Errand's connections go through PgBouncer, which demands TLS: migrations in
sessions, processes in transactions. The exit code is 1 if something is otherwise than expected.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PROGRAM, BIN = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SERVER = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
JOBS = 20


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


@contextmanager
def server():
    """A server on a socket in a new folder of its user."""
    folder = Path(tempfile.mkdtemp(prefix="errand-managed-"))
    try:
        if SERVER:
            shutil.chown(folder, "postgres")
        folder.chmod(0o755)
        programs = BIN
        # The user of the server may not enter a checkout in a home folder.
        if SERVER and run(*SERVER, "test", "-x", BIN / "postgres").returncode:
            shutil.copytree(BIN.parents[2], folder / "wheel", symlinks=True)
            programs = folder / "wheel" / BIN.relative_to(BIN.parents[2])
        for command in (
                ["initdb", "--pgdata", folder / "data", "--username", "superuser", "--auth", "trust", "--no-sync",
                 "--encoding", "UTF8", "--locale", "C.UTF-8"],
                ["pg_ctl", "start", "--wait", "--silent", "--pgdata", folder / "data", "--log", folder / "log", "--options",
                 f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"]):
            done = subprocess.run([*SERVER, programs / command[0], *command[1:]], cwd="/", text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if done.returncode:
                raise RuntimeError(f"{command[0]}: {done.stderr}")
        yield folder
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            subprocess.run([*SERVER, programs / "pg_ctl", "stop", "--silent", "--mode", "immediate", "--pgdata",
                            folder / "data"], cwd="/", check=True)
        shutil.rmtree(folder)


@contextmanager
def pooler(folder):
    """PgBouncer in front: `app` in sessions, `jobs` in transactions. Both demand TLS and a password."""
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
        "subjectAltName=DNS:localhost", "-keyout", folder / "key", "-out", folder / "certificate", check=True)
    port = free_port()
    (folder / "users").write_text("".join(f'"{user}" "{password(user)}"\n' for user in ("admin", "runs", "watches")))
    (folder / "pgbouncer.ini").write_text(f"""[databases]
app = host={folder} dbname=app pool_mode=session
jobs = host={folder} dbname=app pool_mode=transaction
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
client_tls_sslmode = require
client_tls_key_file = {folder}/key
client_tls_cert_file = {folder}/certificate
server_round_robin = 1
""")
    if SERVER:
        for name in ("key", "certificate", "users", "pgbouncer.ini"):
            shutil.chown(folder / name, "postgres")
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    process = subprocess.Popen([*SERVER, program, "-q", folder / "pgbouncer.ini"], cwd="/", stdout=subprocess.DEVNULL,
                               stderr=(folder / "pooler").open("w"))
    try:
        yield port
    finally:
        process.terminate()
        process.wait(20)


def password(user):
    return f"secret-of-{user}"


class Test:
    def __init__(self, folder, port):
        self.folder, self.port, self.problems = folder, port, []

    def url(self, user, database="app", sslmode="verify-full"):
        return (f"postgresql://{user}:{password(user)}@localhost:{self.port}/{database}?sslmode={sslmode}"
                f"&sslrootcert={self.folder}/certificate")

    def environment(self, url):
        return {"PATH": os.environ["PATH"], "DATABASE_URL": url, "STORAGE_URL": str(self.folder / "store"),
                "ERRAND_WEB_ADDRESS": "off", "ERRAND_PUSH": "log"}

    def errand(self, url, *words, expected=0):
        """What a command prints. Its exit code is as expected, and it prints no password."""
        done = run(PROGRAM, *words, env=self.environment(url), cwd=self.folder)
        output = done.stdout + done.stderr
        if done.returncode != expected:
            self.problems.append(f"errand {' '.join(words)}: expected {expected}, got {done.returncode}: {output}")
        if "secret-of" in output:
            self.problems.append(f"errand {' '.join(words)} prints a password")
        return output

    def sql(self, statement, user, **options):
        done = run("psql", "-XAtqv", "ON_ERROR_STOP=1", "-c", statement, self.url(user, **options))
        if done.returncode:
            self.problems.append(f"{statement}: {done.stderr}")
        return done.stdout.strip()

    def expect(self, what, got, wanted):
        if got != wanted:
            self.problems.append(f"{what}: expected {wanted}, got {got}")

    def schema(self):
        """The login migrates, and owns nothing afterwards."""
        for count in (1, 2):
            lines = self.errand(self.url("admin"), "migrate", "--apps", "all").splitlines()
            # What not every service lets its owner grant; docs/deploy/managed.md names it.
            lines = [line for line in lines if "grant pg_read_all_stats to" not in line]
            self.expect("warnings of migrate", [line for line in lines if line.startswith("warning: ")], [])
            if count == 2:
                self.expect("migrate again", lines, ["up to date"])
        self.expect("owner of the schema", self.sql(
            "select nspowner::regrole from pg_namespace where nspname = 'errand'", "admin"), "errand_owner")
        for user, role in (("runs", "errand_worker"), ("watches", "errand_monitor")):
            self.sql(f"create user {user} in role {role} password '{password(user)}'", "admin")

    def examine(self):
        """The doctor finds nothing that is wrong with the server, by either pool, and says where TLS is missing."""
        self.errand(self.url("runs"), "storage", "init")
        for words, user, database in ((("--as", "worker"), "runs", "app"), (("--as", "worker"), "runs", "jobs"),
                                      (("--as", "scheduler"), "runs", "jobs"), (("--as", "web"), "watches", "jobs")):
            output = self.errand(self.url(user, database), "doctor", *words)
            self.expect(f"doctor {words[1]} by {database}", re.findall(r"^FAIL.*", output, re.MULTILINE), [])
        output = self.errand(self.url("runs", sslmode="disable"), "doctor", "--as", "worker", expected=69)
        self.expect("the doctor says why", "SSL required" in output, True)

    def jobs(self):
        """Jobs run, and a schedule ticks, behind the pool of transactions."""
        self.sql(f"select errand.enqueue('noop') from generate_series(1, {JOBS})", "admin", database="jobs")
        self.sql("select errand.put_schedule('often', 'every 1 s', 'noop')", "admin", database="jobs")
        processes = [subprocess.Popen([PROGRAM, name], cwd=self.folder, stdout=subprocess.DEVNULL,
                                      stderr=(self.folder / f"{name}.log").open("w"),
                                      env=self.environment(self.url("runs", "jobs")))
                     for name in ("worker", "scheduler")]
        done = f"select count(*) > {JOBS} from errand.jobs where state = 'succeeded'"
        deadline = time.monotonic() + 30
        while self.sql(done, "admin") != "t":
            if time.monotonic() > deadline:
                self.problems.append(f"expected {JOBS} jobs and one of a schedule within 30 s: "
                                     + (self.folder / "worker.log").read_text()[-2000:])
                break
            time.sleep(0.1)
        for process in processes:
            process.terminate()
        self.expect("exit codes of worker and scheduler", [process.wait(40) for process in processes], [0, 0])
        self.expect("jobs that didn't succeed", self.sql(
            "select count(*) from errand.jobs where state not in ('succeeded', 'available', 'scheduled')", "admin"), "0")


def main():
    began = time.monotonic()
    with server() as folder:
        superuser = f"postgresql:///postgres?host={folder}&user=superuser"
        for statement in (f"create role admin login createdb createrole password '{password('admin')}'",
                          "create database app owner admin"):
            run("psql", "-Xqv", "ON_ERROR_STOP=1", "-c", statement, superuser, check=True)
        with pooler(folder) as port:
            test = Test(folder, port)
            deadline = time.monotonic() + 20
            while run("psql", "-Xc", "select 1", test.url("admin")).returncode and time.monotonic() < deadline:
                time.sleep(0.05)
            test.schema()
            if not test.problems:
                test.examine()
                test.jobs()
            version = test.sql("show server_version", "admin").split(" ")[0]
    print("\n".join(test.problems), end="\n" if test.problems else "")
    verdict = "FAILED" if test.problems else "ok"
    print(f"{verdict} PostgreSQL {version} by a login without superuser, {time.monotonic() - began:.0f} s")
    return 1 if test.problems else 0


if __name__ == "__main__":
    sys.exit(main())
