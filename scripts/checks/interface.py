"""interface.py ROWS [write]: compares docs/sql.md with what the schema says, or writes it there.

ROWS is the result of interface.sql. What it makes stands between two comments of the document.
"""

import sys
import textwrap
from pathlib import Path

DOCUMENT = Path("docs/sql.md")
BEGIN, END = "<!-- made from the schema: make docs -->\n", "<!-- end of what is made -->\n"


def cell(text):
    for mark in "\\|*<":
        text = text.replace(mark, "\\" + mark)
    return text


def made(rows):
    signatures = []
    for row in rows:
        what, *fields = row.split("\t")
        if what == "topic":
            name, about = fields
            yield f"\n### {name}\n\n{about[0].upper()}{about[1:]}.\n\n| call or view | for | does |\n|---|---|---|\n"
        elif what == "object":
            call, roles, comment = fields
            yield f"| `{call}` | {roles} | {cell(comment)} |\n"
        else:
            signatures.append(textwrap.fill(fields[0], 120, subsequent_indent="    ", break_long_words=False,
                                            break_on_hyphens=False))
    yield "\n## Signatures\n\nEach function with its defaults and result, and the roles that may call it. A result in\n"
    yield "parentheses is a set of rows.\n\n```text\n" + "\n".join(signatures) + "\n```\n\n"


def main():
    text = "".join(made(Path(sys.argv[1]).read_text().splitlines()))
    document = DOCUMENT.read_text()
    head, rest = document.split(BEGIN)
    present, tail = rest.split(END)
    if sys.argv[2:] == ["write"]:
        DOCUMENT.write_text(head + BEGIN + text + END + tail)
    elif present != text:
        differences = set(present.splitlines()) ^ set(text.splitlines())
        print("docs/sql.md and the schema differ; `make docs` writes it:", *sorted(differences), sep="\n")
        sys.exit(1)


main()
