"""Runs the workers of Examples/pull on jobs of every outcome, and compares how each job ended with what is expected.

    main.py PROGRAM FOLDER

PROGRAM is `errand`. FOLDER has worker-go, and takes the logs. ERRAND_CLUSTER_URL is a new server. The exit code is 1 if
a job ended otherwise; what was expected and what came is printed.
"""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

LEASE = 4
LOGIN = "clients_worker"
ROUNDS = 3
# Of each worker.
SLOTS = 10


def commands(folder):
    return {
        "python": [sys.executable, "Examples/pull/worker.py"],
        "node": ["node", "Examples/pull/worker.js"],
        "go": [f"{folder}/worker-go"],
    }


class Test:
    def __init__(self, url, folder):
        self.folder = Path(folder)
        self.connection = psycopg.connect(url, autocommit=True, row_factory=dict_row)
        # An empty host: each of the drivers reads the folder of the socket from the query.
        self.login_url = f"postgresql://{LOGIN}@/errand?host={parse_qs(urlsplit(url).query)['host'][0]}"
        # By id: state, attempt, the outcomes on record, output, and a part of the reason.
        self.expected = {}
        self.problems = []

    def rows(self, statement, *arguments):
        cursor = self.connection.execute(statement, arguments)
        return cursor.fetchall() if cursor.description else []

    def value(self, statement, *arguments):
        return next(iter(self.rows(statement, *arguments)[0].values()))

    def wait(self, what, statement, *arguments, limit=20):
        """Waits until the statement returns true."""
        end = time.monotonic() + limit
        while not self.value(statement, *arguments):
            if time.monotonic() > end:
                self.problems.append(f"expected within {limit} s that {what}")
                return
            time.sleep(0.05)

    def expect(self, what, expected, got):
        if got != expected:
            self.problems.append(f"{what}: expected {expected}, got {got}")

    def enqueue(self, queue, payload, state, attempt=1, outcomes=(), reason=None, **options):
        """Enqueues a job that is to end so."""
        job = {"kind": "send_mail", "queue": queue, "payload": payload} | options
        job_id = self.value("select job_id from errand.enqueue_many(%s)", Jsonb([job]))
        output = {"sent_to": payload["to"]} if state == "succeeded" else None
        self.expected[job_id] = (state, attempt, list(outcomes), output, reason)
        return job_id

    def start(self, stack, name, queue, command):
        """Starts a worker of that queue, which the end of the stack kills."""
        environment = os.environ | {
            "DATABASE_URL": self.login_url, "PGAPPNAME": name, "QUEUE": queue, "LEASE": f"{LEASE} s"}
        log = stack.enter_context((self.folder / f"{name}.log").open("w"))
        worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        stack.callback(lambda: (worker.kill(), worker.wait()))
        return worker

    def compare(self):
        """Compares all jobs with what is expected of them."""
        got = {
            row["id"]: (
                row["state"], row["attempt"], [attempt["outcome"] for attempt in row["attempts"] or []], row["output"],
                row["reason"])
            for row in self.rows("select * from errand.jobs")}
        self.expect("jobs", sorted(self.expected), sorted(got))
        for job_id, (*expected, reason) in self.expected.items():
            *ended, its_reason = got.get(job_id, (None, None))
            if ended != expected or (reason or "") not in (its_reason or ""):
                self.problems.append(
                    f"job {job_id}: expected {expected}, {reason}; got {ended}, {its_reason}; it was "
                    + str(self.rows("select queue, payload, attempts from errand.jobs where id = %s", job_id)))


def enqueue_all(test, queue):
    """Enqueues jobs of every outcome. Returns the one to cancel."""
    # First, so that they run beside all others. The slow one takes longer than a lease, which the worker extends.
    test.enqueue(queue, {"to": "slow@example.com", "seconds": 1.5 * LEASE}, "succeeded")
    unwanted = test.enqueue(
        queue, {"to": "unwanted@example.com", "seconds": 600}, "cancelled", 1, ["cancelled"], "not wanted")
    for number in range(80):
        test.enqueue(queue, {"to": f"{number}@example.com", "seconds": 0.01}, "succeeded")
    for number in range(10):
        test.enqueue(queue, {"to": f"once-{number}@example.com", "busy": 1}, "succeeded", 2, ["retried"])
    for number in range(5):
        test.enqueue(
            queue, {"to": f"never-{number}@example.com", "busy": 9}, "failed", 2, ["retried", "failed"],
            "the mail server is busy", max_attempts=2)
    for number in range(5):
        test.enqueue(queue, {"to": f"nobody-{number}"}, "failed", 1, ["failed"], f"nobody-{number}")
    return unwanted


def kill(test, worker, name):
    """Kills a worker while it runs some of its 30 jobs, and expects these to run once more. Returns when they may."""
    for number in range(30):
        test.enqueue("killed", {"to": f"{number}@example.com", "seconds": 0.3}, "succeeded")
    test.wait("ten jobs end", "select count(*) >= 10 from errand.jobs where queue = 'killed' and state = 'succeeded'")
    worker.kill()
    worker.wait()
    # Until then the server may write an outcome.
    test.wait("its sessions end", "select count(*) = 0 from pg_stat_activity where application_name = %s", name)
    lost = test.rows("select id from errand.job where queue = 'killed' and state = 'running'")
    test.expect("jobs are lost with a worker", True, len(lost) > 0)
    for row in lost:
        state, _, _, *rest = test.expected[row["id"]]
        test.expected[row["id"]] = (state, 2, ["lost"], *rest)
    return test.value("select heartbeat_at + lease from errand.worker where name = %s", name)


def wake(test, queues):
    """Expects that a NOTIFY starts the jobs of idle workers sooner than the next pull does."""
    waits = {}
    for number in range(ROUNDS):
        for notify in ("on", "off"):
            with test.connection.transaction():
                test.rows("select set_config('errand.notify', %s, true)", notify)
                ids = [test.enqueue(queue, {"to": f"{notify}-{number}@example.com"}, "succeeded") for queue in queues]
            ended = "select count(*) = %s from errand.jobs where id = any (%s) and state = 'succeeded'"
            test.wait("idle workers find jobs", ended, len(ids), ids)
            for row in test.rows("select queue, started_at - created_at as wait from errand.jobs where id = any (%s)", ids):
                waits.setdefault((row["queue"], notify), []).append(row["wait"].total_seconds())
    for queue in queues:
        if sum(waits[queue, "on"]) > sum(waits[queue, "off"]) / 2:
            test.problems.append(
                f"{queue}: expected shorter waits with NOTIFY than without, "
                f"got {waits[queue, 'on']} s and {waits[queue, 'off']} s")


def stop(test, workers):
    """Stops workers while all slots run jobs, and expects that these end, that no other begins, and that workers leave.
    """
    for queue in workers:
        for number in range(SLOTS):
            test.enqueue(queue, {"to": f"last-{number}@example.com", "seconds": 1.5 * LEASE}, "succeeded")
    test.wait(
        "all slots run jobs", "select count(*) = %s from errand.job where state = 'running'", SLOTS * len(workers))
    for worker in workers.values():
        worker.terminate()
    time.sleep(0.2)
    for queue in workers:
        test.enqueue(queue, {"to": "late@example.com"}, "available", 0)
    for queue, worker in workers.items():
        try:
            test.expect(f"exit code of the worker of {queue}", 0, worker.wait(10))
        except subprocess.TimeoutExpired:
            test.problems.append(f"expected that the worker of {queue} ends once its jobs have ended")
    test.expect("workers that have not left", [], test.rows("select name, queues from errand.workers"))


def main(program, folder):
    url = os.environ["ERRAND_CLUSTER_URL"]
    subprocess.run([program, "migrate"], env=os.environ | {"DATABASE_URL": url}, check=True, stdout=subprocess.DEVNULL)
    test = Test(url, folder)
    test.rows(f"create role {LOGIN} login in role errand_worker")
    workers = commands(folder)
    with ExitStack() as stack:
        # No process of Errand runs.
        loop = subprocess.Popen(
            ["psql", url, "-Xq"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=stack.enter_context((test.folder / "maintain.log").open("w")), text=True)
        stack.callback(lambda: (loop.kill(), loop.wait()))
        loop.stdin.write("select errand.maintain() \\watch 0.2\n")
        loop.stdin.close()
        running = {name: test.start(stack, name, name, command) for name, command in workers.items()}
        test.wait("all workers register", "select count(*) = %s from errand.workers", len(workers))
        wake(test, list(workers))
        unwanted = [enqueue_all(test, name) for name in workers]
        victim = test.start(stack, "victim", "killed", workers["python"])
        may_run_at = kill(test, victim, "victim")
        running["killed"] = test.start(stack, "survivor", "killed", workers["go"])
        test.wait(
            "the slow jobs end", "select count(*) = 0 from errand.job where queue <> 'killed' and id <> all (%s)", unwanted)
        test.rows("select errand.cancel(%s, 'not wanted')", unwanted)
        test.wait("all jobs end", "select count(*) = 0 from errand.job")
        early = test.rows(
            "select id, started_at from errand.jobs where queue = 'killed' and attempt = 2 and started_at < %s", may_run_at)
        test.expect("jobs of the killed worker that ran again before the end of its lease", [], early)
        stop(test, running)
        test.compare()
    for log in sorted(test.folder.glob("*.log")):
        if text := log.read_text().strip():
            test.problems.append(f"{log} says: {text[-1000:]}")
    if test.problems:
        sys.exit("\n".join(test.problems))
    print(f"{len(test.expected)} jobs of {len(running)} workers in {', '.join(workers)} ended as expected")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
