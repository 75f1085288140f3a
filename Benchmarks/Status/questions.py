#!/usr/bin/env python3
"""questions.py URL [--write]: how long each call of docs/operations.md takes on the database of status.sh.

Prints the median of five runs after a first one, in milliseconds with planning and transfer. Each run is rolled back.
--write puts the numbers into the page. The exit code is 1 if a call without a note there takes more than 50 ms.
"""
import pathlib
import re
import statistics
import subprocess
import sys

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "operations.md"
MOST_MS = 50
# What the page names, and what the database of fill.sql has in its place.
NAMES = [
    ("retry('{4711}'", "retry('{9999000}'"), ("4711", "10500001"), ("'images'", "'queue_1'"), ('"images"', '"queue_1"'),
    ("'bulk'", "'queue_2'"), ("newsletter", "kind_1"), ("photo/17", "photo/5000000"), ("NoSuchBucket", "sort A"),
    ("drain_worker(17", "drain_worker(5"), ("6c1d…", "6c1d0000-0000-4000-8000-000000000001"),
]
SETUP = """
select errand_internal.update_statistics();
select errand.put_schedule('nightly', '0 3 * * *', 'noop');
"""


def psql(url, sql):
    command = ["psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", url]
    done = subprocess.run(command, input=sql, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{sql}\n{done.stderr}")
    return done.stdout


def median(url, query):
    for name, present in NAMES:
        query = query.replace(name, present)
    once = f"begin;\n\\timing on\n{query};\n\\timing off\nrollback;\n"
    output = psql(url, "\\o /dev/null\n" + once * 6)
    times = [float(time) for time in re.findall(r"^Time: ([0-9.]+) ms", output, re.MULTILINE)]
    if len(times) != 6:
        sys.exit(f"{query}: expected 6 times, got {len(times)}")
    return statistics.median(times[1:])


def main():
    url, writes = sys.argv[1], "--write" in sys.argv[2:]
    psql(url, SETUP)
    lines = PAGE.read_text().split("\n")
    slow = 0
    for number, line in enumerate(lines):
        row = re.match(r"(\|.*?\| `(select [^`]*)` \|.*\|) ([0-9.]*)((?:, note \d+)?) ?\|$", line)
        if not row:
            continue
        took = median(url, row[2])
        is_over = took > MOST_MS and not row[4]
        slow += is_over
        print(f"{took:8.1f}  {row[2][:140]}{'  over 50 ms' if is_over else row[4]}", flush=True)
        lines[number] = f"{row[1]} {took:.1f}{row[4]} |"
    if writes:
        PAGE.write_text("\n".join(lines))
    sys.exit(1 if slow else 0)


main()
