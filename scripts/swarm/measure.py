"""measure.py ERRAND WORKERS URL POOLER: what many idle workers cost the server, directly and behind PgBouncer."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processes import cpu

ERRAND, WORKERS, URL, POOLER = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
SPAN = 30
JOBS = 100


def sql(text):
    words = ["psql", "-X", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", "--command", text]
    return subprocess.run([*words, URL.replace("/errand?", "/swarm?")], check=True, capture_output=True,
                          text=True).stdout.strip()


def server():
    """The postmaster and its children."""
    data = sql("show data_directory")
    postmaster = Path(data, "postmaster.pid").read_text().split()[0]
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return [postmaster, *children]


def memory(pid):
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def transactions():
    return int(sql("select xact_commit from pg_stat_database where datname = 'swarm'"))


class Swarm:
    def __init__(self, url):
        settings = {"PATH": os.environ["PATH"], "DATABASE_URL": url, "ERRAND_QUEUES": "default=10",
                    "ERRAND_LOG_LEVEL": "warning"}
        self.log = tempfile.TemporaryFile()
        self.workers = [subprocess.Popen([ERRAND, "worker"], env=settings, stdin=subprocess.DEVNULL,
                                         stdout=self.log, stderr=self.log) for _ in range(WORKERS)]
        self.pids = [worker.pid for worker in self.workers]

    def wait_idle(self):
        while int(sql("select count(*) from errand.worker")) < WORKERS:
            time.sleep(1)
        # Until connections that were needed only at the start are closed.
        time.sleep(60)

    def stop(self):
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.wait()
        return self.log.tell()


def span(swarm, seconds):
    """CPU of the server and of a worker in percent of a core, and transactions a second."""
    before = cpu(server()), cpu(swarm.pids), transactions(), time.time()
    time.sleep(seconds)
    after = cpu(server()), cpu(swarm.pids), transactions(), time.time()
    took = after[3] - before[3]
    return ((after[0] - before[0]) / took * 100, (after[1] - before[1]) / took / WORKERS * 100,
            (after[2] - before[2]) / took)


def single_jobs(swarm):
    """Single jobs, five a second: what each costs above the idle load."""
    before = cpu(server()), transactions(), time.time()
    for _ in range(JOBS):
        sql("select errand.enqueue('noop')")
        time.sleep(max(0, 0.2 - 0.02))
    time.sleep(1)
    took = time.time() - before[2]
    quantiles = sql(f"""
        select round(percentile_cont(0.5) within group (order by ms)::numeric, 1),
            round(percentile_cont(0.99) within group (order by ms)::numeric, 1)
        from (select extract(epoch from started_at - created_at) * 1000 as ms
              from errand.history order by id desc limit {JOBS}) as one""").split("|")
    return cpu(server()) - before[0], transactions() - before[1], took, quantiles


def measure(name, url):
    subprocess.run(["dropdb", "--if-exists", "--force", f"--maintenance-db={URL}", "swarm"], check=True,
                   capture_output=True)
    subprocess.run(["createdb", f"--maintenance-db={URL}", "swarm"], check=True)
    direct = URL.replace("/errand?", "/swarm?")
    subprocess.run([ERRAND, "migrate"], check=True, capture_output=True,
                   env={"PATH": os.environ["PATH"], "DATABASE_URL": direct})
    swarm = Swarm(url)
    swarm.wait_idle()
    connections = sql("select count(*) from pg_stat_activity where datname = 'swarm' and backend_type = 'client backend'")
    idle = span(swarm, SPAN)
    seconds, statements, took, latency = single_jobs(swarm)
    each = (seconds - idle[0] / 100 * took) / JOBS * 1000
    print(f"{name}: {connections} connections, server {idle[0]:.1f} % of a core idle, {idle[2]:.0f} transactions/s, "
          f"a worker {idle[1]:.2f} % and {memory(swarm.pids[0]):.0f} MiB; a single job {each:.1f} ms of the server, "
          f"{(statements - idle[2] * took) / JOBS:.0f} transactions, starts after p50 {latency[0]}, p99 {latency[1]} ms",
          flush=True)
    swarm.stop()


print(f"{WORKERS} workers:")
measure("directly", URL.replace("/errand?", "/swarm?"))
measure("behind PgBouncer", POOLER.replace("/postgres?", "/swarm?"))
