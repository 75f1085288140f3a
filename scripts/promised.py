"""promised.py FILTER: prints a filter for `swift test` that matches the tests of a promise, such as E4.

`swift test --filter` matches the names of suites and functions, and not what a test is called in `@Test("E4: …")`. So a
filter that is a promise's mark, alone or behind `EndToEndTests.*`, is replaced by the names of its functions. Any other
filter is printed as it is. The exit code is 1 if no test has the mark.
"""

import re
import sys
from pathlib import Path

TYPE = re.compile(r"(?m)^(?:@Suite.*?)?(?:\w+ )*(?:struct|class|actor|enum|extension) (\w+)")
TEST = re.compile(r'@Test\(\s*"((?:[A-Z]\d+, )*[A-Z]\d+): (?s:.*?)\bfunc (\w+)')


def tests(mark, folder):
    """The suite and function of each test that has the mark; several marks have commas between: `E1, E2: …`."""
    for path in Path("Tests").rglob("*.swift"):
        if folder not in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        for found in TEST.finditer(text):
            if mark in found[1].split(", "):
                suites = TYPE.findall(text, 0, found.start())
                yield (f"{suites[-1]}/" if suites else "") + found[2]


def main(pattern):
    marked = re.fullmatch(r"(EndToEndTests\.\*)?([A-Z]\d{1,2})", pattern)
    if not marked:
        print(pattern)
        return 0
    names = sorted(set(tests(marked[2], "EndToEndTests" if marked[1] else "Tests")))
    if not names:
        print(f"no test is called \"{marked[2]}: …\"", file=sys.stderr)
        return 1
    print(f"[./]({'|'.join(names)})\\(")
    return 0


sys.exit(main(sys.argv[1]))
