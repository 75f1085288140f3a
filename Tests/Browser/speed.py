"""Measures each page at ten million ended, a hundred thousand failed and a million waiting jobs.

    speed.py PROGRAM FOLDER

Prints a line a page: the median and the slowest of 11 requests, in milliseconds. Stops with exit code 1 if a median is
over 100 ms: that is promised for a release build on an idle machine.
"""

import os
import statistics
import sys
import time
import urllib.request
from pathlib import Path

from shop import ROOT, TOKEN, Shop

PAGES = {
    "Overview": "/",
    "Jobs": "/jobs",
    "Jobs, the next page": "/jobs?before=5000000",
    "Jobs by state": "/jobs?state=cancelled",
    "Jobs of a kind that nobody has": "/jobs?kind=nobody",
    "Jobs by time": "/jobs?created_before={middle}",
    "Jobs by error": "/jobs?state=failed&error=JPEG",
    "A job": "/jobs/5000000",
    "A waiting job": "/jobs/10700000",
    "A flow of an ended job": "/jobs/5000000/flow",
    "A flow of a waiting job": "/jobs/10700000/flow",
    "Batches": "/batches",
    "A batch": "/batches/10100030",
    "Failures": "/failures",
    "Schedules": "/schedules",
    "Workers": "/workers",
    "Limits": "/limits",
    "Audit": "/audit",
}


def main():
    with Shop(os.path.abspath(sys.argv[1]), os.environ["ERRAND_CLUSTER_URL"], Path(sys.argv[2]).absolute()) as shop:
        shop.worker.terminate()
        shop.psql("truncate errand.history, errand.job, errand.failed, errand.finished_per_minute, errand.progress")
        shop.psql(file=ROOT / "Tests/Browser/ten_million.sql")
        middle = shop.psql("select to_char(now() - interval '3 days', 'YYYY-MM-DD\"T\"HH24:MI')")
        slow = []
        for name, path in PAGES.items():
            times = []
            for _ in range(12):
                request = urllib.request.Request(
                    shop.site + path.format(middle=middle), headers={"Authorization": f"Bearer {TOKEN}"})
                begun = time.perf_counter()
                with urllib.request.urlopen(request, timeout=60) as reply:
                    reply.read()
                times.append((time.perf_counter() - begun) * 1000)
            # The first one opens a connection.
            median = statistics.median(times[1:])
            print(f"| {name} | {median:.0f} | {max(times[1:]):.0f} |", flush=True)
            if median > 100:
                slow.append(name)
        if slow:
            sys.exit(f"over 100 ms: {', '.join(slow)}")


if __name__ == "__main__":
    main()
