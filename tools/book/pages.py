"""The pages of the book: their commands in order, the files that they show, and their entries in tools/book/pages.toml."""

import dataclasses
import fnmatch
import functools
import pathlib
import re
import shlex
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILE = ROOT / "tools" / "book" / "pages.toml"
# A block is one of commands if its first line begins with one of these.
PROGRAMS = {"hoptax", "make", "cargo", "curl", "ssh", "kubectl", "helm", "duckdb", "python3", "tools/known-machine", "(umask"}
PROMPT = "$ "
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:yaml|json|csv|txt|proto))`")


class Problem(Exception):
    """A fault of a page or of its entry in pages.toml."""


@dataclasses.dataclass
class Command:
    """A command of a page, and how it is run."""

    text: str
    # The command that runs: the command of the page, or a shortened or adapted one.
    run: str
    entry: dict


@dataclasses.dataclass
class Shown:
    """A file whose content a page shows."""

    name: str
    text: str


@dataclasses.dataclass
class Page:
    """A page: its prerequisites, and its commands and files in order."""

    name: str
    files: dict
    texts: dict
    before: list
    steps: list

    def commands(self):
        return [step for step in self.steps if isinstance(step, Command)]

    def shown(self):
        return [step for step in self.steps if isinstance(step, Shown)]


def blocks(text):
    """The blocks of a page: the paragraph above each, and its lines. A blank line divides an indented block."""
    lines = text.splitlines()
    above, paragraph, number = [], [], 0
    while number < len(lines):
        line = lines[number]
        if line.lstrip().startswith("```"):
            end = next(at for at in range(number + 1, len(lines)) if lines[at].lstrip().startswith("```"))
            # Text is what a command prints.
            yield "" if line.strip() == "```text" else " ".join(paragraph or above), lines[number + 1 : end]
            above, paragraph, number = [], [], end + 1
        elif line.startswith("    ") and not paragraph:
            end = next((at for at in range(number, len(lines)) if not lines[at].startswith("    ")), len(lines))
            yield " ".join(above), [one.removeprefix("    ") for one in lines[number:end]]
            above, number = [], end
        else:
            if line.strip():
                paragraph.append(line.strip())
            elif paragraph:
                above, paragraph = paragraph, []
            number += 1


def is_command(line):
    return line.split(" ", 1)[0] in PROGRAMS


def commands_of(lines):
    """The commands of a block, with continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    if any(line.startswith(PROMPT) for line in joined):
        return [line.removeprefix(PROMPT) for line in joined if line.startswith(PROMPT)]
    if not joined or not is_command(joined[0]):
        if lost := [line for line in joined if line.startswith("hoptax ")]:
            raise Problem(f"`{lost[0]}` is in a block that does not begin with a command")
        return []
    if others := [line for line in joined if not is_command(line)]:
        raise Problem(f"`{others[0]}` is no command, in a block of commands")
    return joined


def printed(lines):
    """The files that a block shows as output of `cat`."""
    name, found = None, {}
    for line in lines:
        if line.startswith(PROMPT):
            words = line.removeprefix(PROMPT).split()
            name = words[1] if words[0] == "cat" else None
        elif name:
            found.setdefault(name, []).append(line)
    return [Shown(name, "".join(f"{line}\n" for line in of_file)) for name, of_file in found.items()]


def steps_of(text):
    """The commands and the files of a page, in order."""
    for above, lines in blocks(text):
        commands = commands_of(lines)
        yield from printed(lines)
        yield from commands
        names = NAMED_FILE.findall(above) if above.endswith(":") and not commands else []
        if names:
            yield Shown(names[-1], "".join(f"{line}\n" for line in lines))


@functools.cache
def stated():
    """The entries of pages.toml."""
    return tomllib.loads(FILE.read_text())


def releases():
    return stated()["releases"]


def addresses():
    return stated()["addresses"]


def end_of(command):
    """The end of the words of a command: its comment, a pipe, a redirection or the next command."""
    quote = None
    for place, sign in enumerate(command):
        if quote:
            quote = None if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "#|>&" and command[:place].endswith(" "):
            return len(command[:place].rstrip())
    return len(command)


def with_options(command, options):
    """A command with these options, which replace the values that it states, or else follow its words."""
    words = shlex.split(options)
    for place, option in enumerate(words):
        if not option.startswith("-"):
            continue
        value = words[place + 1] if place + 1 < len(words) and not words[place + 1].startswith("-") else None
        end = end_of(command)
        of_value = "" if value is None else r"[ =]('[^']*'|\S+)"
        given = re.compile(rf"(?<= ){re.escape(option)}(?=[ =]|$){of_value}")
        text = option if value is None else f"{option} {shlex.quote(value)}"
        if given.search(command[:end]):
            command = given.sub(lambda match: text, command[:end], count=1) + command[end:]
        else:
            command = f"{command[:end]} {text}{command[end:]}"
    return command


ENTRY = {"begins", "not_run", "options", "replace", "exits", "serves", "beside", "then"}
BEFORE = {"run", "exits", "serve", "port"}
PAGE = {"files", "texts", "shown", "before", "commands", "sentences"}


def command_of(text, entries, used):
    """A command with the first entry that fits it."""
    fitting = next((number for number, entry in enumerate(entries) if text.startswith(entry["begins"])), None)
    if fitting is None:
        return Command(text, text, {})
    entry, run = entries[fitting], text
    used.add(fitting)
    for old, new in entry.get("replace", {}).items():
        if old not in run:
            raise Problem(f"`{text}` has no `{old}`, which an entry replaces")
        run = run.replace(old, new)
    if "options" in entry:
        run = with_options(run, entry["options"])
    return Command(text, run, entry)


def page(name, said):
    """A page with its entry of pages.toml."""
    entries, used, steps = said.get("commands", []), set(), []
    of_entries = {key for entry in entries for key in set(entry) - ENTRY}
    if unknown := (set(said) - PAGE) | of_entries | {key for step in said.get("before", []) for key in set(step) - BEFORE}:
        raise Problem(f"unknown keys of an entry: {', '.join(sorted(unknown))}")
    changes = {file: dict(changed) for file, changed in said.get("shown", {}).items()}
    text = (ROOT / name).read_text()
    # Code in sentences may be broken over lines.
    sentences = " ".join(text.split())
    for step in [*steps_of(text), *said.get("sentences", [])]:
        if isinstance(step, str):
            if step in said.get("sentences", []) and f"`{step}`" not in sentences:
                raise Problem(f"no sentence has `{step}`")
            steps.append(command_of(step, entries, used))
            continue
        for old, new in changes.pop(step.name, {}).items():
            if old not in step.text:
                raise Problem(f"`{step.name}` has no `{old}`, which an entry replaces")
            step.text = step.text.replace(old, new)
        steps.append(step)
    if changes:
        raise Problem(f"it shows no file {', '.join(changes)}")
    if idle := [entry["begins"] for number, entry in enumerate(entries) if number not in used]:
        raise Problem(f"no command begins with `{idle[0]}`")
    return Page(name, said.get("files", {}), said.get("texts", {}), said.get("before", []), steps)


def template(name):
    """The commands of a page that is made from a template, without the name of the page."""
    stem = pathlib.Path(name).stem
    return [step.replace(stem, "NAME") for step in steps_of((ROOT / name).read_text()) if isinstance(step, str)]


def all_pages():
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(path.relative_to(ROOT)) for path in paths]


def read(names):
    """The pages to run: these, or all. Of pages that are made from one template, the one that pages.toml names."""
    every, said = all_pages(), stated()["pages"]
    if lost := sorted((set(said) | set(names)) - set(every)):
        raise Problem(f"there is no page {lost[0]}")
    alike = {}
    for pattern, one in stated()["made_from_one_template"].items():
        for name in fnmatch.filter(every, pattern):
            if name != one and pathlib.Path(name).name != "README.md":
                if template(name) != template(one):
                    raise Problem(f"{name} has other commands than {one}, which is run in its place")
                alike[name] = one
        if one not in every:
            raise Problem(f"there is no page {one}")
    found = []
    for name in names or every:
        if name in alike:
            continue
        try:
            found.append(page(name, said.get(name, {})))
        except Problem as problem:
            raise Problem(f"{name}: {problem}") from problem
    return [one for one in found if one.commands()]
