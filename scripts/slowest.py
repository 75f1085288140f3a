"""slowest.py WIDTH EVENTS COMMAND...: runs the tests, WIDTH at a time, and prints which took longest.

EVENTS is the file to which the command has the runner write its events. The seconds of a test are those from the start
of each test case to its end, so the wait for one of the slots in which tests run isn't counted. Computing is the
test's share of the busy cores: each sample of /proc/stat is divided among the tests that run then. The rest is waiting.

Prints the slowest 20 suites, and each test that isn't in Tests/slow.txt and would take more than 5 s with a core of its
own: twice that, if four tests share two cores. The exit code is the command's.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

CORES = os.cpu_count()
LIMIT = 5
LIST = Path("Tests/slow.txt")


def ticks():
    """The ticks of all cores: busy ones, and all."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def sample(samples, stop):
    """Adds the time and the busy share of the machine ten times a second."""
    busy, total = ticks()
    while not stop.wait(0.1):
        busy_before, total_before = busy, total
        busy, total = ticks()
        samples.append((time.time(), (busy - busy_before) / max(total - total_before, 1)))


class Slots:
    """When each test began, by the runner's events.

    The runner gives its slots to tests in the order in which it announces them. It says when a case of a test with
    arguments begins, and of other tests only when they are announced and when they end. So each of these began when the
    place became free that the order gives it. Where another test ends, the two have changed slots.
    """

    def __init__(self, width):
        self.width, self.queue, self.running, self.found = width, [], {}, []

    def end(self, key, moment):
        if key not in self.running:
            others = [other for other in self.running if isinstance(other, str)]
            if key in self.queue and others:
                other = max(others, key=self.running.get)
                self.queue[self.queue.index(key)] = other
                self.running[key] = self.running.pop(other)
        if key in self.running:
            name = key if isinstance(key, str) else key[0]
            # Module.Suite/function()/File.swift:12:6
            *suite, test, _ = name.split("/")
            self.found.append(("/".join(suite), test, self.running.pop(key), moment))
        self.fill(moment)

    def fill(self, moment):
        while self.queue and len(self.running) < self.width:
            self.running[self.queue.pop(0)] = moment


def cases(path, width):
    """The suite, name, start and end of each test case, in unix seconds."""
    slots, single = Slots(width), set()
    # The last line isn't whole if the runner was killed.
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        record = json.loads(line)
        payload = record["payload"]
        if record["kind"] == "test":
            if payload["kind"] == "function" and not payload.get("isParameterized"):
                single.add(payload["id"])
            continue
        kind, name, moment = payload["kind"], payload.get("testID"), payload["instant"]["since1970"]
        if kind == "testStarted" and name in single:
            slots.queue.append(name)
            slots.fill(moment)
        elif kind == "testCaseStarted":
            slots.running[name, payload["_testCase"]["id"]] = moment
        elif kind == "testCaseEnded":
            slots.end((name, payload["_testCase"]["id"]), moment)
        elif kind == "testEnded" and name in single:
            slots.end(name, moment)
    return slots.found


def computing(found, samples, cores):
    """The seconds in which each case computed."""
    edges = sorted([(start, 1, index) for index, (_, _, start, _) in enumerate(found)]
                   + [(end, -1, index) for index, (_, _, _, end) in enumerate(found)])
    running, position, before = set(), 0, None
    used = defaultdict(float)
    for moment, busy in samples:
        while position < len(edges) and edges[position][0] <= moment:
            running.add(edges[position][2]) if edges[position][1] > 0 else running.discard(edges[position][2])
            position += 1
        if before is not None and running:
            share = min(1, busy * cores / len(running)) * (moment - before)
            for index in running:
                used[index] += share
        before = moment
    return used


def report(events, samples, width):
    found = cases(events, width)
    used = computing(found, samples, CORES)
    suites, tests = defaultdict(lambda: [0, 0.0, 0.0]), defaultdict(float)
    for index, (suite, test, start, end) in enumerate(found):
        row = suites[suite]
        row[0] += 1
        row[1] += end - start
        row[2] += min(used[index], end - start)
        tests[f"{suite}/{test}"] = max(tests[f"{suite}/{test}"], end - start)
    print("The slowest suites, in seconds from the start of each test case to its end:")
    print(f"{'seconds':>8} {'computing':>10} {'waiting':>8} {'cases':>6}  suite")
    for suite, (count, seconds, computed) in sorted(suites.items(), key=lambda item: -item[1][1])[:20]:
        print(f"{seconds:8.1f} {computed:10.1f} {seconds - computed:8.1f} {count:6}  {suite}")
    idle = sum(1 - busy for _, busy in samples) / max(len(samples), 1)
    print(f"{sum(row[1] for row in suites.values()):.0f} s of {len(found)} cases; the machine was idle for {idle:.0%}")
    listed = {line.split(" ", 1)[0] for line in LIST.read_text().splitlines()} if LIST.exists() else set()
    limit = LIMIT * max(1, width / CORES)
    slow = sorted((-seconds, test) for test, seconds in tests.items() if seconds > limit and test not in listed)
    if slow:
        print(f"Above {limit:g} s, and not in {LIST}:")
    for seconds, test in slow:
        print(f"{-seconds:8.1f}  {test}")


def main(width, events, *command):
    events, samples, stop = Path(events), [], threading.Event()
    events.unlink(missing_ok=True)
    sampler = threading.Thread(target=sample, args=(samples, stop), daemon=True)
    sampler.start()
    code = subprocess.run(command).returncode
    stop.set()
    sampler.join()
    if events.exists():
        report(events, samples, int(width))
    return code


sys.exit(main(*sys.argv[1:]))
