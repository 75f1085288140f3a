"""run.py [ALERT...]: causes the fault of each alert, waits until it fires, removes the fault, waits until it clears.

Started by scripts/alerts.sh. The exit code is 1 if an alert did not fire or clear within its time, if a scrape is not
clean to `promtool check metrics`, or if a query of the dashboard fails or has no series.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import rules
from faults import FAULTS
from service import BINARIES, FOLDER, URL, Process, Prometheus, sql

# How long an alert may take to fire, and to clear.
LIMIT = 150
# Panels that have no series in a healthy queue: what they show is a fault or a pause.
SILENT = {"Paused queues", "Late schedules", "Errors of the store a second"}


def prepare():
    """The schema, the users and the folder of photos."""
    for rest in ("prometheus", "storage", "away"):
        shutil.rmtree(FOLDER / rest, ignore_errors=True)
    environment = {"DATABASE_URL": URL, "PATH": "/usr/bin:/bin", "STORAGE_URL": str(FOLDER / "storage")}
    for command in (["migrate", "--apps", "all"], ["storage", "init"]):
        subprocess.run([BINARIES / "errand", *command], env=environment, check=True, stdout=subprocess.DEVNULL)
    for user, role in (("errand_runs", "errand_worker"), ("errand_watches", "errand_monitor")):
        sql(f"create user {user} in role {role}")


def until(condition, limit=LIMIT):
    """The seconds until the condition holds; None if it takes longer than the limit."""
    start = time.monotonic()
    while time.monotonic() - start < limit:
        if condition():
            return time.monotonic() - start
        time.sleep(0.5)
    return None


def tried(name, prometheus, processes):
    """The seconds until an alert fired, and until it cleared."""
    # An earlier fault has left nothing.
    if until(lambda: name not in prometheus.alerts("pending", "firing")) is None:
        return None, None
    fault = FAULTS[name](*processes)
    start = time.monotonic()
    next(fault)
    fired = until(lambda: name in prometheus.alerts("firing"))
    fired = None if fired is None else time.monotonic() - start
    next(fault, None)
    cleared = until(lambda: name not in prometheus.alerts("firing")) if fired is not None else None
    return fired, cleared


def unclean(processes):
    """What `promtool check metrics` says of a scrape of each process."""
    for process in processes:
        run = subprocess.run(["scripts/promtool.sh", "check", "metrics"], input=process.get("/metrics"),
                             capture_output=True, text=True)
        if run.returncode or run.stderr:
            yield f"{process.command}: {run.stdout}{run.stderr}"


def silent_panels(prometheus):
    """The queries of the dashboard that fail, or have no series."""
    board = json.loads(Path("deploy/grafana/errand.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            query = re.sub(r'"\$\w+"', '".*"', target["expr"].replace("$__rate_interval", "1m"))
            found = prometheus.api("query", query=query)["result"]
            if not found and panel["title"] not in SILENT:
                yield f"{panel['title']}: no series of {query}"


def work():
    """Some work for each kind of process, so that each panel has something to show."""
    sql("select errand.put_schedule('panels', 'every 2 s', 'noop')")
    sql("select errand.enqueue('noop') from generate_series(1, 20)")
    sql("select devices.register('user-2', 'apns', repeat('cd', 32))")
    sql("select notify.send('user-2', 'Ada', 'A new moment')")
    time.sleep(15)


def main(names):
    prepare()
    web, worker, scheduler = (
        Process("web", "errand_watches"), Process("worker", ERRAND_QUEUES="default=5,images=2,uploads=4,pushes=4"),
        Process("scheduler"))
    processes = (web, worker, scheduler)
    for process in processes:
        process.start()
    prometheus = Prometheus(rules.shortened(), [process.port for process in processes])
    problems = []
    try:
        print(f"{'ALERT':<32} {'FIRES AFTER':>12} {'CLEARS AFTER':>13}", flush=True)
        for name in names or rules.names():
            fired, cleared = tried(name, prometheus, processes)
            cells = [f"{value:.0f} s" if value is not None else "never" for value in (fired, cleared)]
            print(f"{name:<32} {cells[0]:>12} {cells[1]:>13}", flush=True)
            if None in (fired, cleared):
                problems.append(f"{name}: expected it to fire and to clear within {LIMIT} s each")
        if not names:
            work()
            problems += list(unclean(processes)) + list(silent_panels(prometheus))
    finally:
        for process in processes:
            process.stop()
        prometheus.stop()
    if not names and not problems:
        print("promtool check metrics is clean on each process, and each panel of the dashboard has series")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - set(rules.names())
    if unknown or set(FAULTS) != set(rules.names()):
        sys.exit(f"expected alerts with a fault each, got {sorted(unknown or set(FAULTS) ^ set(rules.names()))}")
    sys.exit(main(sys.argv[1:]))
