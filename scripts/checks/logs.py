"""Compares docs/logs.md with the source: prints `file: problem` for each finding. The exit code is 1 if there is one.

    python3 scripts/checks/logs.py

Each message that the program logs at the level warning, error or critical has a row in its tables, with its level. Each
row is a message of the source. A message is a literal without values: those are fields of the line.
"""

import re
import sys
from pathlib import Path

PAGE = Path("docs/logs.md")
LEVELS = ("trace", "debug", "info", "notice", "warning", "error", "critical")
CALL = re.compile(r"[lL]ogger\.(%s)\(\s*\"([^\"]+)\"" % "|".join(LEVELS))
CHOSEN = re.compile(r"[lL]ogger\.log\(\s*level: ([^\"]+?),\s*\"([^\"]+)\"")
# Messages that are passed on to a call.
PASSED = re.compile(r"faultMessage: \"([^\"]+)\"|return line\(\s*\.(\w+), \"([^\"]+)\"|line\(\s*\.(\w+), \"([^\"]+)\"")


def logged():
    """The messages of the source, each with the levels that it may have."""
    found = {}
    paths = [path for folder in ("Sources", "jobs") for path in sorted(Path(folder).rglob("*.swift"))]
    for path in paths:
        text = path.read_text()
        for level, message in CALL.findall(text):
            found.setdefault(message, set()).add(level)
        for chosen, message in CHOSEN.findall(text):
            named = {level for level in LEVELS if re.search(rf"\.{level}\b", chosen)}
            # A level that is a variable falls to debug when a line is repeated.
            found.setdefault(message, set()).update(named or {"warning"})
        for fault, _, _, level, message in PASSED.findall(text):
            found.setdefault(fault or message, set()).add("error" if fault else level)
    return found


def explained():
    """The messages of the page's tables, each with its levels."""
    rows = re.findall(r"^\| `([^`]+)` \| ([a-z, ]+) \|", PAGE.read_text(), re.MULTILINE)
    return {message: set(levels.split(", ")) for message, levels in rows}


def findings():
    source, page = logged(), explained()
    for message, levels in sorted(source.items()):
        urgent = levels & {"warning", "error", "critical"}
        if "\\(" in message and urgent:
            yield f"source: `{message}` has a value in its text: expected it as a field"
        elif urgent and message not in page:
            yield f"{PAGE}: lacks `{message}` ({', '.join(sorted(levels))})"
        elif message in page and not page[message] >= urgent:
            yield f"{PAGE}: `{message}` is logged as {', '.join(sorted(levels))}"
    for message in sorted(page.keys() - source.keys()):
        yield f"{PAGE}: nothing logs `{message}`"


if __name__ == "__main__":
    problems = list(findings())
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
