"""Checks that docs/coming-from.md maps only to what exists: prints `file: problem` for each finding.

    python3 scripts/checks/peernames.py

The right column of its tables has the names of Errand. The exit code is 1 if one doesn't exist.
"""

import re
import sys
from pathlib import Path

PAGE = Path("docs/coming-from.md")
# Where names of each form are defined: functions and views of SQL, settings, and all others in code.
SQL = Path("docs/sql.md").read_text()
SETTINGS = Path("docs/settings.md").read_text()
CODE = "".join(path.read_text() for folder in ("Sources", "clients/python/src", "sql/engine/functions")
               for path in Path(folder).rglob("*") if path.suffix in (".swift", ".py", ".sql"))


def findings():
    for line in PAGE.read_text().splitlines():
        if not line.startswith("| "):
            continue
        for name in re.findall(r"`([^`]+)`", line.split(" | ", 1)[1]):
            if word := re.fullmatch(r"errand\.(\w+)(\.\w+)?", name):
                known = re.search(rf"errand\.{word[1]}\b", SQL)
            elif re.fullmatch(r"ERRAND_[A-Z_]+", name):
                known = f"`{name}`" in SETTINGS
            else:
                # A call or an option: each of its words is one of the code's.
                words = re.findall(r"[A-Za-z_]{4,}", re.sub(r"'[^']*'", "", name))
                known = all(re.search(rf"\b{word}\b", CODE) for word in words)
            if not known:
                yield f"{PAGE}: nothing is called {name}"


if __name__ == "__main__":
    found = list(findings())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
