"""Prints one symbol graph for a product: the symbols of its module and of the modules that it re-exports.

    python3 scripts/checks/docc.py FOLDER MODULE [REEXPORTED...]

FOLDER is the output of `swift package dump-symbol-graph`. DocC resolves links within one module only, so the symbols of
a re-exported module are added to the first.
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
