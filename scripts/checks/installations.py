"""Makes of each alert's test one of two installations in one Prometheus.

Series of the first have the values of the test: 45 minutes of the fault, then 45 without. Those of the second have the
halves in the other order. So after 44 minutes the alert is of the first one alone, and after 89 of the second.
"""

import json
import re
import subprocess
import tempfile
from copy import deepcopy
from pathlib import Path

import yaml

# What tells the two apart: any one of these labels is enough.
INSTALLATIONS = [({"job": "errand"}, {"job": "errand-shop"}),
                 ({"job": "errand", "namespace": "a"}, {"job": "errand", "namespace": "b"}),
                 ({"job": "errand", "installation": "a"}, {"job": "errand", "installation": "b"})]


def of(labels, line, is_second):
    """A series as the installation with these labels has it."""
    name, own = re.fullmatch(r"(\w+)\{(.*)\}", line["series"]).groups()
    kept = [label for label in own.split(",") if not label.startswith("job=")]
    halves = str(line["values"]).split(" ")
    if len(halves) != 2:
        raise ValueError(f"{line['series']}: expected two halves of values, got {line['values']}")
    all_labels = ",".join([*kept, *(f'{key}="{value}"' for key, value in labels.items())])
    return {"series": f"{name}{{{all_labels}}}",
            "values": " ".join(reversed(halves) if is_second else halves)}


def doubled(test, pair):
    """The test of an alert with two installations."""
    fires = next(check for check in test["alert_rule_test"] if check.get("exp_alerts"))
    checks = []
    for labels, minutes in zip(pair, (44, 89)):
        check = {**deepcopy(fires), "eval_time": f"{minutes}m"}
        for alert in check["exp_alerts"]:
            alert["exp_labels"] = {**alert["exp_labels"], **labels}
        checks.append(check)
    series = [of(labels, line, index == 1) for index, labels in enumerate(pair) for line in test["input_series"]]
    return {"name": f"{test['name']} of {pair[0]} and {pair[1]}", "interval": test["interval"], "input_series": series,
            "alert_rule_test": checks}


def problems(rules, tests):
    """What promtool says of the tests of two installations."""
    given = yaml.safe_load(tests.read_text())
    names = {rule["alert"] for group in yaml.safe_load(rules.read_text())["groups"] for rule in group["rules"]}
    made = [doubled(test, pair) for test in given["tests"] if test["name"] in names for pair in INSTALLATIONS]
    if len(made) != len(names) * len(INSTALLATIONS):
        yield f"expected a test with the name of each alert, got {len(made) // len(INSTALLATIONS)} of {len(names)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "installations.yaml")
        path.write_text(json.dumps({"rule_files": [str(rules.resolve())],
                                    "evaluation_interval": given["evaluation_interval"], "tests": made}))
        run = subprocess.run(["scripts/promtool.sh", "test", "rules", path], capture_output=True, text=True)
        if run.returncode:
            yield run.stdout + run.stderr
