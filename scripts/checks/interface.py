"""interface.py ROWS [write]: compares docs/sql.md and docs/apps/sql.md with the schema, or writes them.

ROWS is the result of interface.sql. What it makes stands between two comments of each document.
"""

import re
import sys
import textwrap
from pathlib import Path

ENGINE, APPS = Path("docs/sql.md"), Path("docs/apps/sql.md")
BEGIN, END = "<!-- made from the schema: make docs -->\n", "<!-- end of what is made -->\n"


def cell(text):
    for mark in "\\|*<":
        text = text.replace(mark, "\\" + mark)
    return text


def sentence(comment):
    """The first sentence of a comment, without its period."""
    return re.split(r"\. |[;:] (?=[A-Z])", comment)[0].rstrip(".")


def title(level, name, about):
    about = sentence(about)
    return f"\n{level} {name}\n\n{about[0].upper()}{about[1:]}{'' if about.endswith('?') else '.'}\n"


def table(objects):
    """Rows of names and what they do. A function that does "as X does" for one job is named in the row of X."""
    rows = {}
    for name, _, _, comment in objects:
        does = sentence(comment)
        original = re.search(r", as (\w+\.\w+) does$", does)
        if original and original[1] + "()" in rows:
            rows[original[1] + "()"][0].append(name)
        elif name not in rows:
            rows[name] = ([name], does)
    for names, does in rows.values():
        yield f"| {', '.join(f'`{name}`' for name in names)} | {cell(does)} |\n"


def section(objects, shown):
    """A table of what is not shown yet, and its signatures. `shown` has the names of the sections before."""
    new = [fields for fields in objects if fields[0] not in shown]
    if again := [f"`{fields[0]}`" for fields in objects if fields[0] in shown]:
        yield f"\nAbove: {', '.join(again)}.\n"
    if not new:
        return
    yield "\n| name | does |\n|---|---|\n"
    yield from table(new)
    yield "\n```text\n"
    for _, signature, roles, _ in new:
        yield textwrap.fill(f"{signature} -- {roles}", 120, subsequent_indent="    ", break_long_words=False,
                            break_on_hyphens=False) + "\n"
    yield "```\n"
    shown.update(fields[0] for fields in new)


def made(rows):
    """The text for each document."""
    sections = []
    for row in rows:
        what, *fields = row.split("\t")
        if what == "object":
            sections[-1][2].append(fields)
        else:
            document, level = (ENGINE, "###") if what == "topic" else (APPS, "##")
            sections.append((document, title(level, *fields), []))
    texts, shown = {ENGINE: "", APPS: ""}, set()
    for document, heading, objects in sections:
        texts[document] += heading + "".join(section(objects, shown))
    return {document: text + "\n" for document, text in texts.items()}


def main():
    differences = []
    for path, text in made(Path(sys.argv[1]).read_text().splitlines()).items():
        document = path.read_text()
        head, rest = document.split(BEGIN)
        present, tail = rest.split(END)
        if sys.argv[2:] == ["write"]:
            path.write_text(head + BEGIN + text + END + tail)
        elif present != text:
            differences.append(f"{path} and the schema differ; `make docs` writes it:")
            differences += sorted(set(present.splitlines()) ^ set(text.splitlines()))
    if differences:
        print(*differences, sep="\n")
        sys.exit(1)


main()
