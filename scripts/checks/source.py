"""Checks of the source text: prints `file:line: problem` for each finding. The exit code is 1 if there is one.

    python3 scripts/checks/source.py CHECK

CHECK is imports, folders, layers, environment, ctypes, tests, jobs, words, replies, columns, objects, internal, length,
links or snippets.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from samples import unexpected
from words import LIST, house_words

# The folders of modules, each with the modules of ours that it may import.
MODULES = {
    "Sources/Waiting": set(),
    "Sources/Postgres": {"CLibpq", "Waiting"},
    "sql/engine": {"Postgres"},
    "sql/apps": {"Postgres"},
    "sql/front": {"Postgres"},
    "Sources/EmbedText": set(),
    "Sources/EmbedTextPlugin": set(),
    "Sources/ErrandImages": {"CPNG", "CQREncode", "Waiting"},
    "Sources/ImageProcess": {"CProcess", "CSandbox", "CVips", "ErrandImages"},
    "Sources/Archives": {"CArchive"},
    "Sources/Cryptography": {"COpenSSL"},
    "Sources/Listings": set(),
    "Sources/Outbound": set(),
    "Sources/ErrandStorage": {"Cryptography", "Outbound"},
    "Sources/ErrandPush": {"Cryptography", "Outbound"},
    "Sources/Errand": {"Cryptography", "EngineSchema", "Postgres", "Waiting"},
    "Sources/Endpoints": {"Cryptography", "Errand", "Outbound", "Postgres"},
    "Sources/TraceExport": {"Waiting"},
    "Sources/Web": {"Errand", "Postgres"},
    "Sources/API": {"Cryptography", "Errand", "Postgres", "Web"},
    "Sources/Dashboard": {"Cryptography", "Errand", "Listings", "Outbound", "Postgres", "Waiting", "Web"},
    "Sources/ErrandTestKit": {"EngineSchema", "Errand", "Postgres", "Waiting"},
    "jobs": {"Archives", "Errand", "ErrandImages", "ErrandPush", "ErrandStorage", "Outbound", "Postgres"},
    "Sources/Command": {
        "API", "AppSchemas", "CProcess", "Cryptography", "Dashboard", "Endpoints", "EngineSchema", "Errand",
        "ErrandImages", "ErrandPush", "ErrandStorage", "FrontSchema", "Jobs", "Listings", "Outbound", "Postgres",
        "TraceExport", "Web"},
}
OURS = {
    "API", "AppSchemas", "Archives", "CArchive", "CLibpq", "COpenSSL", "CPNG", "CProcess", "CQREncode", "CSandbox",
    "CVips", "CVipsSystem", "Command", "Cryptography", "Dashboard", "EmbedText", "Endpoints", "EngineSchema", "Errand",
    "ErrandImages", "ErrandPush", "ErrandStorage", "ErrandTestKit", "FrontSchema", "ImageProcess", "Jobs", "Listings",
    "Outbound", "Postgres", "TraceExport", "Waiting", "Web"}

# The folders of the engine, lowest first, each with the folders below it that it may use.
ENGINE = Path("Sources/Errand")
LAYERS = {
    "Job": set(),
    "Queue": {"Job"},
    "Telemetry": {"Job"},
    "Maintenance": {"Telemetry"},
    "Completion": {"Job", "Telemetry"},
    "Attempt": {"Job", "Telemetry", "Completion"},
    "Claim": {"Job", "Telemetry", "Maintenance", "Completion", "Attempt"},
    "Lease": {"Job", "Telemetry", "Maintenance", "Completion", "Attempt", "Claim"},
    "Worker": {"Job", "Telemetry", "Maintenance", "Completion", "Attempt", "Claim", "Lease"},
    "Schedule": {"Job", "Queue", "Telemetry"},
}

# The folders whose code may use C types, and those whose code may read the environment.
C_FOLDERS = ("Sources/Archives/", "Sources/Cryptography/", "Sources/Postgres/", "Sources/ImageProcess/")
ENVIRONMENT_FOLDERS = ("Sources/Command/", "Sources/ErrandTestKit/")


def files(*patterns):
    """The files that git tracks or would add. Ignored files are not checked."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in sorted(filter(None, listed.split("\0"))) if Path(name).is_file()]


def lines(path):
    """The numbered lines of a text file; none for a binary file."""
    try:
        return list(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    except UnicodeDecodeError:
        return []


def code_lines(path):
    """The lines without their comments. A `//` in a string ends the line too; the checks do not need the rest."""
    return [(number, line.split("//")[0]) for number, line in lines(path)]


def module(path):
    return next((name for name in MODULES if path.is_relative_to(name)), None)


def imports():
    """A module imports only the modules of its entry in MODULES."""
    pattern = re.compile(
        r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?"
        r"import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)")
    for path in files("*.swift"):
        here = module(path)
        if path.parts[0] == "Sources" and here is None:
            yield path, 1, f"{path.parts[1]} has no entry in MODULES of scripts/checks/source.py"
        for number, line in code_lines(path):
            found = pattern.match(line)
            if here and found and found[1] in OURS - MODULES[here]:
                yield path, number, f"{here} may not import {found[1]}"


def folders():
    """The table of CONTRIBUTING.md lists the same imports as MODULES."""
    guide = Path("CONTRIBUTING.md")
    shown = {}
    for number, line in lines(guide):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 3:
            for name in re.findall(r"`([^`]+)`", cells[0]):
                shown[name] = (number, set(re.findall(r"`([^`]+)`", cells[2])))
    for name, allowed in MODULES.items():
        number, listed = shown.get(name, (1, None))
        if listed is None:
            yield guide, number, f"has no row for {name} in its table of folders"
        elif listed != allowed:
            wanted = ", ".join(sorted(allowed)) or "nothing"
            yield guide, number, f"{name} may import {wanted} in MODULES of scripts/checks/source.py"


def layers():
    """A folder of the engine uses no type of a higher folder, and each type is in a folder."""
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
            yield path, 1, f"{folder} has no entry in LAYERS of scripts/checks/source.py"
            continue
        # A name after a dot is a member, and a name before a colon is a label.
        closed = {name for name, owner in owners.items() if owner not in LAYERS[folder] | {folder}}
        for number, line in numbered:
            for name in re.findall(r"(?<![.\w`])([A-Z]\w*)\b", line):
                if name in closed:
                    yield path, number, f"{folder} may not use {name}, which is in {owners[name]}"


def environment():
    """Only Command reads settings. Every other module has them as arguments of its initializers."""
    pattern = re.compile(r"\bgetenv\s*\(|\bprocessInfo\.environment\b|\bEnvironmentVariablesProvider\b")
    for path in files("Sources/*.swift", "jobs/*.swift", "sql/*.swift"):
        if not str(path).startswith(ENVIRONMENT_FOLDERS):
            for number, line in code_lines(path):
                if pattern.search(line):
                    yield path, number, "only Command reads the environment"


def ctypes():
    """Types of libarchive, libpq, libvips and OpenSSL stay in the module that owns them."""
    pattern = re.compile(
        r"\bOpaquePointer\b|\bPG(conn|result|notify|cancel)\b|\bPQ[a-z]\w*|\bVips[A-Z]\w*|\bc?vips_\w+|\barchive_[a-z]+_[a-z_]+\("
        r"|\b(BIO|BN|CRYPTO|ECDSA|ERR|EVP|OSSL|PEM|RSA)_\w+")
    for path in files("Sources/*.swift", "jobs/*.swift", "sql/*.swift"):
        if not str(path).startswith(C_FOLDERS):
            for number, line in code_lines(path):
                # A name in a string is text, such as a loader's name in a report.
                found = pattern.search(re.sub(r'"[^"]*"', '""', line))
                if found:
                    yield path, number, f"the C name {found[0]} outside of {' and '.join(C_FOLDERS)}"


def tests():
    """A test function without @Test compiles and never runs.

    Checked are members of suites and top-level functions. A finding is a function without @Test that no test calls,
    and a member without parameters: helpers are private or top-level.
    """
    texts = {path: lines(path) for path in files("Tests/*.swift", "Benchmarks/Tests/*.swift")}
    everything = "\n".join(line for numbered in texts.values() for _, line in numbered)
    uses = Counter(re.findall(r"`[^`\n]+`|\w+", everything))
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
                is_used = uses[name] > 1
                is_member = in_suite and len(indent) == 4
                if (not is_used and (is_member or not indent)) or (is_member and no_parameters and not is_helper):
                    yield path, number, f"{name} has no @Test, so it never runs; a helper is private"
            # The lines above a declaration belong to it, back to the end of a body or an empty line.
            head = "" if not line.strip() or line.rstrip().endswith(("}", "{")) else head + line + "\n"


def jobs():
    """Each job has a README for operators and is registered, in its app or as a SQL function."""
    folders = sorted({Path(*path.parts[:3]) for path in files("jobs/*") if len(path.parts) > 3})
    registered = "\n".join(line for path in files("jobs/*/*App.swift") for _, line in code_lines(path))
    functions = "\n".join(line for path in files("sql/apps/*/seeds/handlers.sql") for _, line in lines(path))
    for folder in folders:
        if not (folder / "README.md").is_file():
            yield folder / "README.md", 1, "is missing: write what the job does, its settings, and how to fix failures"
        kind = re.sub(r"(?<!^)(?=[A-Z])", "_", folder.name).lower()
        if not re.search(rf"\b{folder.name}", registered) and f"'{kind}'" not in functions:
            yield folder, 1, f"is named by no jobs/*/*App.swift, and {kind} by no sql/apps/*/seeds/handlers.sql"


def words():
    """No file has a note of open work, and texts and names have the field's words."""
    pattern = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    for path in files():
        for number, line in lines(path):
            found = pattern.search(line)
            if found:
                yield path, number, f"says {found[0]}"
        for number, word, instead in house_words(path, lines(path)):
            yield path, number, f"says {word}: write {instead}"
    for problem in unexpected(house_words):
        yield LIST, 1, problem


def replies():
    """A word that Swift expects of an SQL function is one that the function returns, and the other way round."""
    enum = re.compile(r"enum (\w+): String, FunctionReply \{(.*?)\}", re.S)
    for path in files("jobs/*.swift"):
        text = path.read_text()
        for found in enum.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            cases = {value or name for name, value in re.findall(r"(\w+)(?: = \"([^\"]*)\")?(?=[,\s]|$)", found[2])
                     if name != "case"}
            functions = set(re.findall(rf"\b{found[1]}\([^()]*from: \"([\w.]+)\"", text))
            if not functions:
                yield path, number, f"{found[1]} is made from the reply of no function"
            returned, said = set(), set()
            for schema, name in (function.split(".") for function in sorted(functions)):
                code = re.sub(r"--.*", "", Path(f"sql/apps/{schema}/functions/{name}.sql").read_text())
                returned |= set(re.findall(r"\b(?:return|then|else)\s+'([^']*)'", code))
                said |= set(re.findall(r"\breturn\s+'([^']*)'", code))
            for word in sorted(cases - returned):
                yield path, number, f"{found[1]} expects {word}, which {' and '.join(sorted(functions))} never returns"
            for word in sorted(said - cases):
                yield path, number, f"{found[1]} lacks {word}, which {' or '.join(sorted(functions))} returns"


def length():
    """A file of more than 400 lines has a second subject."""
    for path in files("*.swift", "*.sql", "*.py", "*.sh"):
        count = len(lines(path))
        if count > 400 and "/seeds/" not in str(path):
            yield path, count, "is longer than 400 lines: move its second subject to a new file"


def columns():
    """Comments of Swift, SQL, the Python client and prose wrap at 120 columns, but for table rows and URLs.

    The formatter wraps Swift code.
    """
    for path in files("*.swift", "*.sql", "*.md", "clients/python/src/*.py"):
        for number, line in lines(path):
            text = line.lstrip()
            is_whole = {
                ".swift": not text.startswith("//"),
                # Lists of columns, which are one line each.
                ".sql": text.startswith("\\set "),
                ".md": text.startswith("|") or bool(re.search(r"https?://\S{40}", line)),
            }.get(path.suffix, False)
            if len(line) > 120 and not is_whole:
                yield path, number, f"has {len(line)} columns: wrap at 120"


def engine_schema(path):
    """What people call is on a page of errand.help; two functions are for migrations, one for the library."""
    is_public = "views" in path.parts or any(line.startswith("-- errand: topic ") for _, line in lines(path))
    return "errand" if is_public or path.stem in ("put_guard", "drop_guard", "enqueue_payloads_v1") else "errand_internal"


def objects():
    """A script of functions or views creates one object, of its own name; a trigger belongs to its function's file."""
    pattern = re.compile(r"^create (?:or replace )?(function|aggregate|procedure|view|materialized view) (\w+)\.(\w+)")
    for path in files("sql/*.sql"):
        created = [(number, *found.groups()) for number, line in lines(path) if (found := pattern.match(line))]
        is_in_folder = "functions" in path.parts or "views" in path.parts
        if not is_in_folder:
            for number, what, schema, name in created:
                yield path, number, f"creates the {what} {schema}.{name}: it needs a file of its own, {name}.sql"
            continue
        schema = {"engine": engine_schema(path), "front": "errand_front"}.get(path.parts[1], path.parts[2])
        if not created:
            yield path, 1, "creates no function or view"
        for number, what, its_schema, name in created:
            if (its_schema, name) != (schema, path.stem):
                yield path, number, f"creates {its_schema}.{name}: the {what} needs a file of its own, {name}.sql"
            elif ("views" in path.parts) != ("view" in what):
                yield path, number, f"creates a {what}: it belongs to {'views' if 'view' in what else 'functions'}"


def internal():
    """A function of errand_internal is named with its schema, in comments and documents too."""
    names = [path.stem for path in files("sql/engine/functions/*.sql") if engine_schema(path) == "errand_internal"]
    # errand.notify is a setting, too.
    pattern = re.compile(r"\berrand\.(?!notify\b)(%s)\b" % "|".join(names))
    for path in files("*.sql", "*.swift", "*.md", "*.py", "*.sh", "*.mustache"):
        for number, line in lines(path):
            for name in pattern.findall(line):
                yield path, number, f"names errand.{name}: expected errand_internal.{name}"


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    found = Counter()
    for line in re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M).splitlines():
        if heading := re.match(r"#+ (.*)", line):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")
            yield f"{name}-{found[name]}" if found[name] else name
            found[name] += 1


def links():
    """A link in a document is to an existing file and one of its headings, or to another site."""
    pattern = re.compile(r"\]\(([^)\s]+)\)")
    for path in files("*.md"):
        for number, line in lines(path):
            for target in pattern.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                other = path.parent / name if name else path
                if not other.exists() or anchor and other.suffix == ".md" and anchor not in anchors(other):
                    yield path, number, f"links to {target}, which does not exist"


# The documents whose code is part of Examples, and the files for each of the languages that they show.
GUIDES = (
    "docs/endpoints.md", "docs/flows.md", "docs/handlers.md", "docs/products.md", "docs/pull.md", "docs/start.md",
    "Sources/*.docc/*.md")
SAMPLES = {
    "swift": "Examples/*.swift", "python": "Examples/*.py", "js": "Examples/pull/*.js", "go": "Examples/pull/*.go"}


def snippets():
    """Code in the guides is part of a file of Examples, which is built and run. Indentation may differ."""
    def flush(block):
        margin = min((len(line) - len(line.lstrip()) for line in block if line.strip()), default=0)
        return [line[margin:].rstrip() for line in block]

    sources = {language: [[text for _, text in lines(path)] for path in files(pattern)]
               for language, pattern in SAMPLES.items()}
    for path in files(*GUIDES):
        block, start, language = None, 0, None
        for number, line in lines(path):
            if block is None:
                language = line.strip().removeprefix("```")
                if line.strip() == f"```{language}" and language in sources:
                    block, start = [], number
            elif line.strip() != "```":
                block.append(line)
            else:
                wanted = flush(block)
                shown = any(flush(source[first:first + len(wanted)]) == wanted
                            for source in sources[language] for first in range(len(source) - len(wanted) + 1))
                # The manifest of a reader's own package: in Examples it depends on this checkout.
                if not shown and not wanted[0].startswith("// swift-tools-version"):
                    yield path, start, f"has {language} code that is in no file of Examples"
                block = None


CHECKS = {check.__name__: check
          for check in (
              imports, folders, layers, environment, ctypes, tests, jobs, words, replies, columns, objects, internal,
              length, links, snippets)}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    findings = [f"{path}:{number}: {what}" for path, number, what in CHECKS[sys.argv[1]]()]
    print("\n".join(findings))
    sys.exit(1 if findings else 0)
