"""Checks of the source text: prints `file:line: what is wrong` for each finding, and ends with 1 if there is one.

    python3 scripts/checks/source.py imports|folders|layers|environment|ctypes|tests|jobs|words|length|links|snippets
"""

import re
import subprocess
import sys
from pathlib import Path

# Which room may enter which; what is named here and not beside a room is closed to it.
ROOMS = {
    "Sources/Postgres": {"CLibpq"},
    "sql/engine": {"Postgres"},
    "sql/apps": {"Postgres"},
    "Sources/EmbedSQL": set(),
    "Sources/EmbedSQLPlugin": set(),
    "Sources/ErrandImages": set(),
    "Sources/ImageProcess": {"CSandbox", "CVips", "ErrandImages"},
    "Sources/Outbound": set(),
    "Sources/ErrandStorage": {"Outbound"},
    "Sources/ErrandPush": {"Outbound"},
    "Sources/Errand": {"EngineSchema", "Postgres"},
    "Sources/Web": {"Errand", "Postgres"},
    "Sources/ErrandTestKit": {"AppSchemas", "EngineSchema", "Errand", "Postgres"},
    "jobs": {"Errand", "ErrandImages", "ErrandPush", "ErrandStorage", "Outbound", "Postgres"},
    "Sources/Command": {
        "AppSchemas", "CProcess", "EngineSchema", "Errand", "ErrandImages", "ErrandPush", "ErrandStorage", "Jobs",
        "Outbound", "Postgres", "Web"},
}
OURS = {"AppSchemas", "CLibpq", "CProcess", "CSandbox", "CVips", "CVipsSystem", "Command", "EmbedSQL", "EngineSchema", "Errand",
        "ErrandImages", "ErrandPush", "ErrandStorage", "ErrandTestKit", "ImageProcess", "Jobs", "Outbound", "Postgres", "Web"}

# The folders of the engine, lowest first, each with the folders below it that it may use.
ENGINE = Path("Sources/Errand")
LAYERS = {
    "Policy": set(),
    "Waiting": set(),
    "Job": {"Policy", "Waiting"},
    "Queue": {"Policy", "Job"},
    "Telemetry": {"Policy", "Job", "Queue"},
    "Worker": {"Policy", "Waiting", "Job", "Queue", "Telemetry"},
    "Scheduler": {"Policy", "Waiting", "Job", "Queue", "Telemetry"},
}

# Words that no other queue uses for these things, as documents used to have them.
HOUSE_WORDS = re.compile(
    r"\b(mend(s|ed|ing)?|whoever|in vain|settle(s|d|ment)?|doze|hurry|takes? stock|keeps? house|beats?|in line|"
    r"claim(s|ed)? ahead|duties|answers? (the|its|their|with)|bears? (with|repetition|being))\b", re.IGNORECASE)

# The rooms that hold C types, and those that may read the environment.
C_ROOMS = ("Sources/Postgres/", "Sources/ImageProcess/")
ENVIRONMENT_ROOMS = ("Sources/Command/", "Sources/ErrandTestKit/")


def files(*patterns):
    """What git knows or would add, so that what is ignored is not looked at."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in sorted(filter(None, listed.split("\0"))) if Path(name).is_file()]


def lines(path):
    """The numbered lines of a text file; none of a picture or the like."""
    try:
        return list(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    except UnicodeDecodeError:
        return []


def code_lines(path):
    """The lines without their comments. A `//` in a string cuts it short, which no check here minds."""
    return [(number, line.split("//")[0]) for number, line in lines(path)]


def room(path):
    return next((name for name in ROOMS if path.is_relative_to(name)), None)


def imports():
    """Doors between the rooms open in one direction only."""
    pattern = re.compile(
        r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?"
        r"import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)")
    for path in files("*.swift"):
        here = room(path)
        if path.parts[0] == "Sources" and here is None:
            yield path, 1, f"{path.parts[1]} is not in the plan of the rooms, at the head of scripts/checks/source.py"
        for number, line in code_lines(path):
            found = pattern.match(line)
            if here and found and found[1] in OURS - ROOMS[here]:
                yield path, number, f"{here} may not import {found[1]}"


def folders():
    """The table of CONTRIBUTING.md says which folder may import what: the same as ROOMS."""
    guide = Path("CONTRIBUTING.md")
    shown = {}
    for number, line in lines(guide):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 3:
            for name in re.findall(r"`([^`]+)`", cells[0]):
                shown[name] = (number, set(re.findall(r"`([^`]+)`", cells[2])))
    for name, allowed in ROOMS.items():
        number, listed = shown.get(name, (1, None))
        if listed is None:
            yield guide, number, f"does not have {name} in its table of folders"
        elif listed != allowed:
            yield guide, number, f"{name} may import {', '.join(sorted(allowed)) or 'nothing'}, says scripts/checks/source.py"


def layers():
    """Within the engine a folder names no type of a folder above it, and all of its types have a folder."""
    declaration = re.compile(
        r"^(?:@\w+\s+)*(?:(?:public|package|internal|final|indirect)\s+)*"
        r"(?:struct|class|enum|protocol|actor|typealias)\s+(\w+)")
    code = {path: [(number, re.sub(r'"[^"]*"', '""', line)) for number, line in code_lines(path)]
            for path in files(f"{ENGINE}/*.swift")}
    owners = {found[1]: path.parts[len(ENGINE.parts)]
              for path, numbered in code.items() for _, line in numbered if (found := declaration.match(line))}
    for path, numbered in code.items():
        folder = path.parts[len(ENGINE.parts)]
        if folder.endswith(".swift"):
            continue
        if folder not in LAYERS:
            yield path, 1, f"{folder} is not among the layers of the engine, at the head of scripts/checks/source.py"
            continue
        # A name behind a dot is a member, and one before a colon a label.
        closed = {name for name, owner in owners.items() if owner not in LAYERS[folder] | {folder}}
        for number, line in numbered:
            for name in re.findall(r"(?<![.\w`])([A-Z]\w*)\b", line):
                if name in closed:
                    yield path, number, f"{folder} may not use {name}, which is in {owners[name]}"


def environment():
    """Settings come in through Command, so that every other part says by its initializer what it needs."""
    pattern = re.compile(r"\bgetenv\s*\(|\bprocessInfo\.environment\b|\bEnvironmentVariablesProvider\b")
    for path in files("Sources/*.swift", "jobs/*.swift", "sql/*.swift"):
        if not str(path).startswith(ENVIRONMENT_ROOMS):
            for number, line in code_lines(path):
                if pattern.search(line):
                    yield path, number, "only Command reads the environment"


def ctypes():
    """Pointers of libpq and libvips stay behind the wall of the module that owns them."""
    pattern = re.compile(r"\bOpaquePointer\b|\bPG(conn|result|notify|cancel)\b|\bPQ[a-z]\w*|\bVips[A-Z]\w*|\bc?vips_\w+")
    for path in files("Sources/*.swift", "jobs/*.swift", "sql/*.swift"):
        if not str(path).startswith(C_ROOMS):
            for number, line in code_lines(path):
                # A name in a string is a word, such as a loader's in a report.
                found = pattern.search(re.sub(r'"[^"]*"', '""', line))
                if found:
                    yield path, number, f"the C name {found[0]} outside of {' and '.join(C_ROOMS)}"


def tests():
    """A test function without @Test compiles and never runs.

    Looked at are the functions of suites, and those that stand alone. Suspect is one without @Test that nothing in the
    tests calls, and a suite's own without parameters: helpers are private, or stand outside.
    """
    texts = {path: lines(path) for path in files("Tests/*.swift", "Benchmarks/Tests/*.swift")}
    everything = "\n".join(line for numbered in texts.values() for _, line in numbered)
    declaration = re.compile(r"^(\s*)((?:[@\w()]+\s+)*)func\s+(`[^`]+`|\w+)\s*(?:<[^>]*>)?\(\s*(\)?)")
    for path, numbered in texts.items():
        in_suite = False
        head = ""
        for number, line in numbered:
            if re.match(r"^\S.*\b(struct|class|actor|enum|extension)\b", line):
                body = "\n".join(line for _, line in numbered[number:]).split("\n}", 1)[0]
                in_suite = bool("@Suite" in head + line or "@Test" in body or re.search(r"\b\w+Tests\b", line))
            found = declaration.match(line)
            if found and "@Test" not in head + line:
                indent, modifiers, name, no_parameters = found.groups()
                is_helper = re.search(r"\b(private|fileprivate|static|override)\b", modifiers)
                is_used = len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", everything)) > 1
                is_member = in_suite and len(indent) == 4
                if (not is_used and (is_member or not indent)) or (is_member and no_parameters and not is_helper):
                    yield path, number, f"{name} carries no @Test, so it never runs; a helper is private"
            # What stands above a declaration belongs to it until a body or a statement ends.
            head = "" if not line.strip() or line.rstrip().endswith(("}", "{")) else head + line + "\n"


def jobs():
    """Who operates a job finds its manual, and the program finds the job."""
    folders = sorted({Path(*path.parts[:2]) for path in files("jobs/*") if len(path.parts) > 2})
    all_jobs = Path("jobs/AllJobs.swift")
    registered = "\n".join(line for _, line in code_lines(all_jobs))
    for folder in folders:
        if not (folder / "README.md").is_file():
            yield folder / "README.md", 1, "is missing: what the job does, its settings, what to do when it fails"
        if not re.search(rf"\b{folder.name}", registered):
            yield all_jobs, 1, f"does not name {folder.name}"


def words():
    """What is not done is in no file: it is done, or not begun. And documents have the field's words."""
    pattern = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    for path in files():
        for number, line in lines(path):
            found = pattern.search(line)
            if found:
                yield path, number, f"says {found[0]}"
    # A name in backquotes is the code's.
    for path in files("*.md"):
        is_shown = False
        for number, line in lines(path):
            is_shown ^= line.lstrip().startswith("```")
            found = HOUSE_WORDS.search(re.sub(r"`[^`]*`", "", line))
            if found and not is_shown:
                yield path, number, f"says {found[0]}: the glossary has the ten words of ours, all others are the field's"


def length():
    """Above 400 lines a second subject has crept in."""
    for path in files("*.swift", "*.sql", "*.py", "*.sh"):
        count = len(lines(path))
        if count > 400 and "/seeds/" not in str(path):
            yield path, count, "is longer than 400 lines: give the second subject a file of its own"


def links():
    """A link in a document leads to a file of ours, or out into the world."""
    pattern = re.compile(r"\]\(([^)\s]+)\)")
    for path in files("*.md"):
        for number, line in lines(path):
            for target in pattern.findall(line):
                if not re.match(r"[a-z]+:|#", target) and not (path.parent / target.split("#")[0]).exists():
                    yield path, number, f"links to {target}, which is not there"


def snippets():
    """What the guide shows is part of a file that is built and run, but for the indentation."""
    def flush(block):
        margin = min((len(line) - len(line.lstrip()) for line in block if line.strip()), default=0)
        return [line[margin:].rstrip() for line in block]

    sources = [[text for _, text in lines(path)] for path in files("Examples/*.swift")]
    for path in files("docs/handlers.md", "docs/products.md", "Sources/*.docc/*.md"):
        block, start = None, 0
        for number, line in lines(path):
            if block is None:
                block, start = ([], number) if line.strip() == "```swift" else (None, 0)
            elif line.strip() != "```":
                block.append(line)
            else:
                wanted = flush(block)
                shown = any(flush(source[first:first + len(wanted)]) == wanted
                            for source in sources for first in range(len(source) - len(wanted) + 1))
                if not shown:
                    yield path, start, "shows Swift that is in no file of Examples"
                block = None


CHECKS = {check.__name__: check
          for check in (imports, folders, layers, environment, ctypes, tests, jobs, words, length, links, snippets)}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    findings = [f"{path}:{number}: {what}" for path, number, what in CHECKS[sys.argv[1]]()]
    print("\n".join(findings))
    sys.exit(1 if findings else 0)
