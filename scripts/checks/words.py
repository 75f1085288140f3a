"""House words and the field's words for them, as the checks `words` and `columns` of source.py use them.

A reader knows the words of PostgreSQL and of other job queues. docs/glossary.md has the few words of ours.
"""

import re
from functools import partial
from pathlib import Path

# A part of an identifier, and the field's word. Identifiers are split at underscores and capitals: `isSettled` has the
# parts `is` and `settled`.
NAMES = [
    (r"(un)?settl(e|es|ed|er|ing|ements?)", "complete, record or resolve"),
    (r"doz(e|es|ed|ing)", "idle polling"),
    (r"look(s|ed|ing)?", "scan, probe or read"),
    (r"mend(s|ed|ing)?", "fix"),
    (r"vain", "empty or spurious"),
    (r"beats?", "heartbeat"),
    (r"hurr(y|ies|ied)", "wake"),
    (r"bells?|stir(s|red|ring)?", "wake or notify"),
    (r"dut(y|ies)", "maintenance task"),
    (r"stock", "statistics"),
    (r"paces?", "throughput"),
    (r"screen(s|ed|ing)?|trusted|visitors?", "admission or permit"),
    (r"lanes?", "priority"),
    (r"portions?", "batch"),
    (r"patience|calm", "timeout or quiet period"),
    (r"checkups?", "diagnostics"),
    (r"greetings?", "hello"),
    (r"answer(s|ed|ing)?", "return, reply, response or result"),
    (r"forget(s|ting)?|forgot(ten)?", "prune or remove"),
    (r"acted|tend(s|ed)?", "record or enqueue"),
    (r"sights?", "sample or read"),
    (r"ow(e|es|ed|ing)", "unwritten"),
    (r"heirs?", "successor"),
    (r"turns?", "share, order, election or rotation"),
    (r"places?", "partition of a cell, position, index or location"),
    (r"epochs", "generation"),
    (r"sweep(s|ing)?|swept", "rescan, cleanup or delete"),
    (r"aside", "skip"),
    (r"starters?", "dispatcher"),
    (r"doubt(s|ed|ful)?", "uncertain or unknown"),
    (r"apart", "separate or refused"),
    (r"deep", "backlog"),
    (r"leads?", "claim, or the noun"),
    (r"assist(s|ed|ing)?", "claim, or the noun"),
    (r"suspects?|poison(s|ed)?|trials?", "crashed job, or runs alone"),
]

# A whole identifier, where a part alone is plain English.
WHOLE_NAMES = [
    (r"kept(Statements?|Quer(y|ies)|Lines?)\w*|\w+Kept(Statements?|Lines?)", "prepared, or the job log"),
    (r"\w*[iI]nLine|lineOf\w+", "position"),
    (r"\w*([rR]etry|[aA]ttempt|[dD]elivery)Pauses?|[pP]auses?(After|Before|Between)\w*", "delay or backoff"),
    (r"\w*[cC]laims?Ahead|\w*[cC]laimedAhead", "prefetch"),
    (r"(ending|ended|end)Attempts?|attempt(Ending|End|Ended)|noteBook", "completion, outcome or progress buffer"),
    (r"Epoch|\w+(?<!Since)Epoch|\w+_epoch|epoch_\w+", "generation"),
    (r"isolate(Lock|_lock|Jobs?)?", "release crashed jobs"),
    (r"set_?[sS]ize", "batchSize"),
]

# A phrase in comments, messages and documents. Plain English has many of these words too ("a line of text", "the end of
# the file", "are kept for a week"), so each pattern is as long as the house meaning needs.
PHRASES = [
    (r"(un)?settl(e|es|ed|ing|ements?)", "complete, record or resolve"),
    (r"doz(e|es|ed|ing)", "poll less often"),
    (r"(a|each|every|next|last|first|this|idle) looks?", "scan or probe"),
    (r"mend(s|ed|ing)?", "fix"),
    (r"kept (statements?|lines?)", "prepared, or the job log"),
    (r"note ?books?", "progress buffer"),
    (r"in vain", "spurious, or without a result"),
    (r"(a|the|each|every|one|its|their|second) beats?|beats (every|each|once)", "heartbeat"),
    (r"hurr(y|ies|ied)|rings? (a|the|its) bells?|stirs?|stirred", "wake or notify"),
    (r"dut(y|ies)", "maintenance task"),
    (r"tak(e|es|ing|en) stock|keeps? house", "refresh statistics, or maintain"),
    (r"in line(?! (\d|with))|back in line|the line'?s? (of|position)s? jobs?", "position, or pending"),
    (r"claim(s|ed|ing)? ahead", "prefetch"),
    (r"answers? (how|whether|what|which|where|when|the|its|their|with|after|nil|true|false|who|a|an|no|nothing)\b",
     "return, reply or response"),
    (r"bears? (with|repetition|being)", "tolerate, or idempotent"),
    (r"whoever|whosoever", "the noun"),
    (r"visitors?", "permit"),
    (r"patience|the calm|calms? down", "timeout or quiet period"),
    (r"pauses? (between|before|after) (the |its |each |an? |two )?(next )?(attempts?|tries|retries)|pauses between",
     "delay or backoff"),
    (r"(priority )?lanes?", "priority"),
    (r"portions?", "batch"),
    (r"checkups?", "diagnostics"),
    (r"(its|their|whose|each|next|another's|worker's|job's) turns?|tak(e|es|ing) turns|(by|in) turns|turn by turn",
     "share, order, election or rotation"),
    (r"(the|a|its|each|PL/Proxy's) places? (of|in) (a|the|each|its|PL/Proxy's|that) \w*'?s? ?(cell|cluster)s?|"
     r"cell's places?", "partition"),
    (r"(?<!Unix )epochs?(?! from)", "generation"),
    (r"sweep(s|ing)?|swept", "rescan, cleanup or delete"),
    (r"aside", "skip"),
    (r"starters?", "dispatcher"),
    (r"(in|a|each|the|no|every) doubts?|doubtful", "uncertain or unknown"),
    (r"(complet|writ|claim|sen|pu)\w* apart", "separate or refused"),
    (r"deep queues?|queues? (is|are|was|were) deep", "backlog"),
    (r"suspects?|(on|the|a|its) trial(?! of)|poison\w*|isolat(e|es|ed|ing) (a |the |such )?jobs?",
     "crashed job, or runs alone"),
]

# The alias or the variable of a row that is there, in SQL.
EXISTING = re.compile(
    r"\bas (known|held|kept)\b|[(, ](known|held|kept) errand\.|^\s+(known|held|kept) (\w+\.\w+|record)( not null)?;|"
    r"\binto (strict )?(known|held|kept)\b|\bfor (known|held|kept) in\b")

# A reply of a function.
KEPT = re.compile(r"'kept'")

# A method.
HOLDING = re.compile(r"\bfunc (un)?(hold|held|kept)\(|(?<=\.)(unhold|hold|kept)\(|(?<=\.)held\(\)")

FIELD_WORDS = "the glossary has the few words of ours, all others are the field's"

# These files have them all.
LIST = Path("scripts/checks/words.py")
LISTS = {LIST, Path("scripts/checks/samples.py")}


NAMES = [(re.compile(pattern), instead) for pattern, instead in NAMES]
WHOLE_NAMES = [(re.compile(pattern), instead) for pattern, instead in WHOLE_NAMES]
PHRASES = [(re.compile(rf"(?<![\w`.-])(?:{pattern})(?![\w`-])", re.IGNORECASE), instead)
           for pattern, instead in PHRASES]

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# The comments and strings on a line of Swift or C, of a script, and of SQL. An interpolation stays in its string.
SWIFT = re.compile(r'//.*|/\*.*|^\s*\*.*|#"(.*?)"#|"((?:\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\\.|[^"\\])*)"')
COMMENT = re.compile(r"//.*")
SCRIPT = re.compile(r"""(?<!\$)#(?!\{).*|'[^']*'|"(?:\\.|[^"\\])*\"""")
DEFINITION = re.compile(r"^\s*(?:local |for )?(\w+)(?==|\(\)| in\b)")
SQL = re.compile(r"--.*|/\*.*|'(?:''|[^'])*'")
SQL_COMMENT = re.compile(r"--.*")
# PostgreSQL's words, which its functions take or have for names.
SQL_FUNCTIONS = re.compile(r"\bextract ?\(\s*epoch\b|'epoch'|\blead ?\(")
IS_SQL = re.compile(
    r"\bselect\b|\binsert into\b|\bupdate [\w.]+ set\b|\bdelete from\b|\b(create|alter|drop) [a-z]+ \w+|::\w+|\$\d|"
    r"\berrand\.\w+\(")


def names(code):
    """The house words in the identifiers of a line of code."""
    for name in re.findall(r"[A-Za-z_]\w*", code):
        for pattern, instead in WHOLE_NAMES:
            if pattern.fullmatch(name):
                yield name, instead
        for part in PART.findall(name):
            for pattern, instead in NAMES:
                if pattern.fullmatch(part.lower()):
                    yield name if name.lower() == part.lower() else f"{part} in {name}", instead


def rows(line):
    """The house words for a row that is there, and for one that stays as it is, in a line of SQL."""
    for found in EXISTING.finditer(line):
        yield found[0].strip(), "existing, or the table's name"
    for found in KEPT.finditer(line):
        yield found[0], "unchanged"


def phrases(text):
    """The house words in a line of prose. A name in backquotes is the code's."""
    text = re.sub(r"`[^`]*`", "", text)
    for pattern, instead in PHRASES:
        for found in pattern.finditer(text):
            yield found[0], instead


def swift(numbered):
    """Swift and C: identifiers, comments and messages. SQL is not read. A text without a blank is a value."""
    block = None
    for number, line in numbered:
        yield number, rows(COMMENT.sub("", line) if IS_SQL.search(line) or block is not None else "")
        if line.count('"""') % 2:
            if block and not any(IS_SQL.search(text) for _, text in block):
                yield from ((at, phrases(text)) for at, text in block)
            block = [] if block is None else None
        elif block is not None:
            block.append((number, line))
            continue
        spans = [found[0] for found in SWIFT.finditer(line)]
        code = SWIFT.sub('""', line)
        yield number, names(code)
        yield number, ((found[0], "reserve, release or unchanged") for found in HOLDING.finditer(code))
        for span in spans:
            if not span.startswith('"'):
                yield number, phrases(span)
            elif " " in span and not IS_SQL.search(span):
                yield number, phrases(re.sub(r"'[^' ]*'", "", span))


def script(numbered, is_python=False):
    """Shell and Python: identifiers, comments and messages. A text without a blank is a value."""
    in_text = False
    for number, line in numbered:
        quotes = line.count('"""')
        if in_text or quotes:
            in_text ^= quotes % 2 == 1
            yield number, phrases(line)
            continue
        spans = [found[0] for found in SCRIPT.finditer(line)]
        # SQL in a shell's string of several lines looks like code: there, only definitions are identifiers.
        code = SCRIPT.sub('""', line)
        yield number, names(code if is_python else " ".join(DEFINITION.findall(code)))
        for span in spans:
            if span.startswith("#") or " " in span and not IS_SQL.search(span):
                yield number, phrases(span)


def sql(numbered):
    """SQL: identifiers, comments and messages. A text without a blank is a value."""
    for number, line in numbered:
        code = SQL.sub("''", SQL_FUNCTIONS.sub("", line))
        yield number, names(code)
        yield number, rows(SQL_COMMENT.sub("", line))
        for found in SQL.finditer(line):
            if " " in found[0]:
                yield number, phrases(found[0])


def document(numbered):
    """Documents: what is outside of a block of code."""
    is_shown = False
    for number, line in numbered:
        is_shown ^= line.lstrip().startswith("```")
        if not is_shown:
            yield number, phrases(line)


READERS = {".swift": swift, ".c": swift, ".h": swift, ".sh": script, ".md": document,
           ".py": partial(script, is_python=True), ".sql": sql}


def house_words(path, numbered):
    """Each house word of a file: the number of its line, the word, and the field's word."""
    # Seeds have texts of others, such as quotes.
    if path.suffix in READERS and path not in LISTS and "seeds" not in path.parts:
        for number, found in READERS[path.suffix](numbered):
            for word, instead in found:
                yield number, word, instead
