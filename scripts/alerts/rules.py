"""Makes the alert rules of a test from those of a deployment: the same queries, with shorter times."""

import re
from pathlib import Path

RULES = Path("deploy/prometheus/errand.rules.yaml")

# A minute of a rule takes this long in the test.
MINUTE = 1.0
# The least that a window may have: enough scrapes for a rate.
WINDOW = 20
# Thresholds that no quick fault reaches: the memory of a process.
THRESHOLDS = {"1073741824": "157286400"}


def shortened():
    """The rules with `for` and windows in seconds instead of minutes, and thresholds in seconds a tenth as long."""
    text = RULES.read_text()
    text = re.sub(r"\bfor: (\d+)m", lambda m: f"for: {max(1, round(int(m[1]) * MINUTE))}s", text)
    text = re.sub(r"\[(\d+)m\]", lambda m: f"[{max(WINDOW, round(int(m[1]) * MINUTE))}s]", text)
    text = re.sub(r"(_seconds\) > )(\d+)", lambda m: f"{m[1]}{int(m[2]) / 10:g}", text)
    text = re.sub(r"(\[\d+s\]\)\)\) > )10\b", r"\g<1>1", text)
    for threshold, lower in THRESHOLDS.items():
        text = text.replace(threshold, lower)
    return text


def names():
    """The names of all alerts, in the order of the file."""
    return re.findall(r"^ +- alert: (\w+)$", RULES.read_text(), re.MULTILINE)
