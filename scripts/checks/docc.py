"""Prints one symbol graph for a product: that of its module, and of those that it re-exports.

    python3 scripts/checks/docc.py FOLDER MODULE [REEXPORTED...]

FOLDER is what `swift package dump-symbol-graph` has written. DocC resolves links within one module only, so symbols of a
re-exported module become those of the first.
"""

import json
import sys
from pathlib import Path

FOLDER, NAME, *REEXPORTED = sys.argv[1:]


def graph(module):
    return json.loads((Path(FOLDER) / f"{module}.symbols.json").read_text(encoding="utf-8"))


whole = graph(NAME)
for module in REEXPORTED:
    part = graph(module)
    whole["symbols"] += part["symbols"]
    whole["relationships"] += part["relationships"]
json.dump(whole, sys.stdout)
