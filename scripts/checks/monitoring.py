"""Checks deploy/prometheus and deploy/grafana: prints `file: problem` for each finding. The exit code is 1 if there
is one.

    python3 scripts/checks/monitoring.py

promtool tests the rules. Here: each query names only metrics that exist, each alert has its section in the runbook, and
the dashboard is one that Grafana imports.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import installations

RULES = Path("deploy/prometheus/errand.rules.yaml")
TESTS = Path("deploy/prometheus/errand.rules.test.yaml")
DASHBOARD = Path("deploy/grafana/errand.json")
RUNBOOK = Path("docs/runbook.md")
HELP = Path("Sources/Web/Metrics/MetricHelp.swift")

# WebTests holds that each metric of a page of metrics has an entry there.
METRICS = set(re.findall(r'^ +"(\w+)": "', HELP.read_text(), re.MULTILINE))
NAME = re.compile(r"\b(?:errand|process)_[a-z_]+")


def series(query):
    """The metrics of a query. Labels in braces and in `by (…)` aren't metrics."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) if name not in METRICS else name
            for name in NAME.findall(re.sub(r'"[^"]*"', '""', query))}


def sources():
    """The text that makes metrics."""
    paths = [path for folder in ("Sources", "jobs", "sql") for path in Path(folder).rglob("*")
             if path.suffix in (".swift", ".sql") and path != HELP]
    return "".join(path.read_text() for path in paths)


def described():
    """Each described metric is made somewhere."""
    text = sources()
    for name in sorted(METRICS):
        if not re.search(rf"['\"]{name}['\"]", text):
            yield HELP, f"nothing makes {name}"


def alerts():
    """Each alert has all its fields, a section in the runbook, and a test; its query names existing metrics."""
    sections = re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    tests = TESTS.read_text()
    rules = re.split(r"^ +- alert: ", RULES.read_text(), flags=re.MULTILINE)[1:]
    names = [rule.split("\n")[0] for rule in rules]
    for name, rule in zip(names, rules):
        for field in ("expr", "for", "summary", "description"):
            if not re.search(rf"^ +{field}: ", rule, re.MULTILINE):
                yield RULES, f"{name} has no {field}"
        if not re.search(r"severity: (critical|warning)", rule):
            yield RULES, f"{name}: severity: expected critical or warning"
        if f'runbook_url: "docs/runbook.md#{name.lower()}"' not in rule:
            yield RULES, f"{name}: runbook_url: expected docs/runbook.md#{name.lower()}"
        if f"alertname: {name}\n" not in tests:
            yield TESTS, f"{name} is not tested"
        query = rule.split(" for: ")[0]
        for unknown in sorted(series(query) - METRICS):
            yield RULES, f"{name} names {unknown}, which no process and no queue has"
    if names != sections:
        yield RUNBOOK, f"its sections differ from the alerts: {sorted(set(names) ^ set(sections)) or 'their order'}"


def alert_queries():
    """The query of each alert."""
    rules = re.split(r"^ +- alert: ", RULES.read_text(), flags=re.MULTILINE)[1:]
    return {rule.split("\n")[0]: rule.split(" for: ")[0] for rule in rules}


def linked(panel, queries):
    """A panel links the alerts that it explains. Its threshold, if it has one, is that of such an alert."""
    title, links = panel["title"], panel.get("links", [])
    names = [name for name in queries if f"${{runbook}}#{name.lower()}" in [link["url"] for link in links]]
    if len(names) != len(links):
        yield DASHBOARD, f"{title}: expected links to alerts, got {[link['url'] for link in links]}"
    defaults = panel["fieldConfig"]["defaults"]
    limits = [step["value"] for step in defaults.get("thresholds", {}).get("steps", []) if step["value"] is not None]
    if panel["type"] == "stat" and not limits:
        yield DASHBOARD, f"{title}: has no threshold"
    for limit in limits if panel["type"] != "stat" else []:
        if not any(re.search(rf"> {limit}\b", queries[name]) for name in names):
            yield DASHBOARD, f"{title}: {limit} is the threshold of none of {names}"


def dashboard():
    """The dashboard has what Grafana requires, its queries name existing metrics, and it links each alert."""
    try:
        board = json.loads(DASHBOARD.read_text())
    except ValueError as error:
        yield DASHBOARD, str(error)
        return
    for field, kind in {"title": str, "uid": str, "schemaVersion": int, "panels": list, "templating": dict,
                        "time": dict, "links": list}.items():
        if not isinstance(board.get(field), kind):
            yield DASHBOARD, f"{field}: expected {kind.__name__}, got {board.get(field)!r}"
            return
    if len({panel["id"] for panel in board["panels"]}) != len(board["panels"]):
        yield DASHBOARD, "two panels have one id"
    variables = {variable["name"] for variable in board["templating"]["list"]} | {"__rate_interval", "__field"}
    queries = alert_queries()
    for unknown in sorted(set(re.findall(r"\$\{?(\w+)", DASHBOARD.read_text())) - variables - {"__all"}):
        yield DASHBOARD, f"has no variable {unknown}"
    for name in queries:
        if f"${{runbook}}#{name.lower()}\"" not in DASHBOARD.read_text():
            yield DASHBOARD, f"no panel links {name}"
    for panel in board["panels"]:
        title = panel.get("title")
        if not title or not {"type", "gridPos"} <= panel.keys():
            yield DASHBOARD, f"panel {panel['id']}: expected title, type and gridPos"
        if panel["type"] == "row":
            continue
        if not panel.get("targets"):
            yield DASHBOARD, f"{title}: has no query"
        yield from linked(panel, queries)
        for target in panel.get("targets", []):
            query = target["expr"]
            for unknown in sorted(series(query) - METRICS):
                yield DASHBOARD, f"{title}: names {unknown}, which no process and no queue has"
            # Else a panel would add up installations that its reader has not chosen.
            for label in ("job", "namespace", "installation"):
                if query.count(f'{label}=~"${label}"') != len(NAME.findall(re.sub(r'"[^"]*"', "", query))):
                    yield DASHBOARD, f"{title}: {label} doesn't choose each metric of {query}"


def promtool():
    """The rules are valid; each alert fires and clears, and with two installations for the right one."""
    for command in (["check", "rules", str(RULES)], ["test", "rules", str(TESTS)]):
        run = subprocess.run(["scripts/promtool.sh", *command], capture_output=True, text=True)
        if run.returncode:
            yield RULES, run.stdout + run.stderr
    for problem in installations.problems(RULES, TESTS):
        yield TESTS, f"two installations: {problem}"


if __name__ == "__main__":
    findings = [f"{path}: {problem}" for check in (described, alerts, dashboard, promtool) for path, problem in check()]
    print("\n".join(findings))
    sys.exit(1 if findings else 0)
