"""Runs Schemathesis against the HTTP API, by the document that it serves.

    http_api.py PROGRAM FOLDER

PROGRAM is `errand`. FOLDER takes the logs. ERRAND_CLUSTER_URL is a new server. The exit code is 1 if Schemathesis finds
something, which is printed.
"""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

LOGIN = "http_api"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(stack, command, environment, log):
    output = stack.enter_context(log.open("w"))
    process = subprocess.Popen(["bash", "-c", f"exec env {command}"], env=environment, stdout=output, stderr=output)
    stack.callback(lambda: (process.terminate(), process.wait(20)))


def wait_for(url):
    end = time.monotonic() + 20
    while True:
        try:
            return urllib.request.urlopen(url, timeout=5).read()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def main(program, folder):
    folder = Path(folder)
    url = os.environ["ERRAND_CLUSTER_URL"]
    path = f"{Path(program).parent.resolve()}:{os.environ['PATH']}"
    ops = os.environ | {"DATABASE_URL": url, "PATH": path}
    socket_folder = parse_qs(urlsplit(url).query)["host"][0]
    login = ops | {"DATABASE_URL": f"postgresql://{LOGIN}@/errand?host={socket_folder}"}
    subprocess.run([program, "migrate"], env=ops, check=True, stdout=subprocess.DEVNULL)
    with psycopg.connect(url, autocommit=True) as connection, ExitStack() as stack:
        connection.execute(f"create role {LOGIN} login in role errand_enqueuer")
        start(stack, "ERRAND_QUEUES=default=10 errand worker", ops, folder / "worker.log")
        port = free_port()
        start(stack, f"ERRAND_API_ADDRESS=127.0.0.1:{port} errand api", login, folder / "api.log")
        wait_for(f"http://127.0.0.1:{port}/v1/openapi.json")
        problems = []
        token = subprocess.run(
            [program, "token", "put", "schemathesis", "--queue", "default"], env=ops, check=True, capture_output=True,
            text=True).stdout.strip()
        # As if a server had accepted the job.
        connection.execute("select errand.enqueue('noop', queue => 'nobody')")
        callback = connection.execute("""
            select attempt || '.' || errand_internal.callback_mac(attempt)
            from (select concat_ws('.', id, 1, queue_position) as attempt from errand.job where queue = 'nobody') as one
            """).fetchone()[0]
        command = [
            Path(sys.executable).parent / "schemathesis", "--config-file", Path("Tests/Clients/schemathesis.toml").resolve(), "run",
            f"http://127.0.0.1:{port}/v1/openapi.json", "-H", f"Authorization: Bearer {token}"]
        run = subprocess.run(command, env=ops | {"CALLBACK_TOKEN": callback}, cwd=folder, capture_output=True, text=True)
        (folder / "schemathesis.log").write_text(run.stdout + run.stderr)
        if run.returncode != 0:
            problems.append(run.stdout[-8000:] + run.stderr[-2000:])
        jobs = connection.execute("select count(*) from errand.jobs where options ->> 'token' = 'schemathesis'")
        count = jobs.fetchone()[0]
        outcomes = connection.execute("select count(*) from errand.signal").fetchone()[0]
        if (count > 0, outcomes) != (True, 1):
            problems.append(f"expected that Schemathesis enqueues jobs and reports an outcome, got {count}, {outcomes}")
        log = (folder / "api.log").read_text()
        if token in log:
            problems.append("expected no token in the log of the API, got one")
    for problem in problems:
        print(problem)
    tested = re.findall(r"\d+ generated.*", run.stdout)
    print(f"http: Schemathesis ({', '.join(tested)}; {count} jobs): {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
