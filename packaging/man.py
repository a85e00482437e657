#!/usr/bin/env python3
"""man.py PROGRAM [DOC]: prints the manual page authproxy(1).

Commands and options are what the program says of itself; authproxy.1.in has the rest. DOC is the folder of the example.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time


def text(words):
    """Prose as roff: `code` is bold, and no line begins with what roff takes for a request."""
    parts = words.replace("\\", "\\e").replace("-", "\\-").split("`")
    joined = "".join(f"\\fB{part}\\fR" if index % 2 else part for index, part in enumerate(parts))
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in joined.split("\n"))


def bold(words):
    return f"\\fB{text(words)}\\fR"


def value(argument):
    return f"\\fI{text(argument['valueName'])}\\fR"


def name(names):
    return ("-" if names["kind"] == "short" else "--") + names["name"]


def is_general(argument):
    """Every command has these; the page has them once."""
    return {each["name"] for each in argument.get("names", [])} & {"help", "version"}


def arguments(command):
    return [each for each in command.get("arguments", []) if each["shouldDisplay"] and not is_general(each)]


def usage(argument):
    if argument["kind"] == "positional":
        shown = value(argument)
    else:
        shown = bold(name(argument["preferredName"]))
        if argument["kind"] == "option":
            shown += " " + value(argument)
    shown = f"[{shown}]" if argument["isOptional"] else shown
    return shown + " ..." if argument["isRepeating"] else shown


def item(argument):
    if argument["kind"] == "positional":
        label = value(argument)
    else:
        label = ", ".join(bold(name(each)) for each in argument["names"])
        if argument["kind"] == "option":
            label += " " + value(argument)
    said = text(argument.get("abstract", ""))
    if argument.get("allValues"):
        said += " One of " + ", ".join(bold(each) for each in argument["allValues"]) + "."
    if "defaultValue" in argument:
        said += f" Default: {bold(argument['defaultValue'])}."
    return [".TP", label, said]


def leaves(command, path=()):
    """Commands that do something, with their full names."""
    path = (*path, command["commandName"])
    inner = [each for each in command.get("subcommands", []) if each["shouldDisplay"]]
    if not inner:
        yield " ".join(path), command
    for each in inner:
        yield from leaves(each, path)


def section(path, command):
    yield f'.SS "{text(path)}"'
    # Without hyphenation, and each argument in one piece.
    words = [bold(path)] + [usage(each) for each in arguments(command)]
    yield ".nh"
    yield " ".join(word.replace(" ", "\\~") for word in words)
    yield ".hy"
    for prose in (command.get("abstract"), command.get("discussion")):
        if prose:
            yield ".PP"
            yield text(prose)
    for argument in arguments(command):
        yield from item(argument)


def page(program, doc):
    def said(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout

    root = json.loads(said("--experimental-dump-help"))["command"]
    commands = list(leaves(root))
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    filled = {
        "@TH": [f'.TH AUTHPROXY 1 {time.strftime("%Y-%m-%d", moment)} "authproxy {said("--version").strip()}" "User Commands"'],
        "@SYNOPSIS": [line for path, _ in commands for line in (".br", f"{bold(path)} ...")][1:],
        "@COMMANDS": [line for path, command in commands for line in section(path, command)],
    }
    template = pathlib.Path(__file__).with_name("authproxy.1.in").read_text()
    for line in template.replace("@DOC@", doc).splitlines():
        # One sentence a line, as roff wants it.
        for each in filled.get(line, [line]):
            yield each if each.startswith((".", "\\f")) else re.sub(r"(?<=[a-z)][.:;]) (?=[A-Z])", "\n", each)


print("\n".join(page(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "/usr/share/doc/authproxy")))
