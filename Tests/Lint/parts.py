#!/usr/bin/env python3
"""Checks the shape of the code: no cycles between the parts (folders) of Sources/Proxy, no type with many properties that others may
set, and no type whose extensions are in many folders.

    parts.py [--shrink] [PACKAGE]

- A part refers to another if it names a type that is declared there, extends it, or calls a method that an extension there adds. A
  method does not count if two declarations have its name. Files outside the folders combine the parts: see TOP.
- A type has at most 10 stored `var` properties that others may set.
- Extensions of a type are in at most two folders of a target.

known.json lists today's exceptions, each with its reason. It may only shrink: an entry that is no longer needed is an error, too.
--shrink removes such entries, and adds none.
"""

import json
import pathlib
import re
import sys
from collections import defaultdict

from swift_source import ROOT, Source, swift_files

KNOWN = pathlib.Path(__file__).with_name("known.json")
PROPERTIES, FOLDERS = 10, 2
# The part of the files in Sources/Proxy itself.
TOP = "Proxy"
CHAIN = re.compile(r"(?<![\w.`])([A-Z]\w*(?:\.[A-Z]\w*)*)")
FUNCTION = re.compile(r"\bfunc\s+([a-z]\w*)")
ALIAS = re.compile(r"\btypealias\s+([A-Z]\w*)")
CALL = re.compile(r"(?<!func )(?<![\w`])([a-z]\w*)(?=\()")


class Parts:
    """Which part refers to which, and where: (from, to) -> [(place, name)]."""

    def __init__(self, folder):
        self.folder = folder
        self.sources = [Source.read(path) for path in swift_files(folder)]
        self.references = defaultdict(list)
        self.homes = self.declared()
        self.methods = self.added_methods()
        for source in self.sources:
            for position, name, home in self.named(source):
                if home != (part := self.part(source)):
                    self.references[part, home].append((source.place(position), name))

    def part(self, source):
        inside = source.path.relative_to(self.folder).parts
        return inside[0] if len(inside) > 1 else TOP

    def declared(self):
        """Part of each type, by its qualified name."""
        homes = {}
        for source in self.sources:
            for scope in source.scopes:
                if scope.kind != "extension":
                    homes[scope.name] = self.part(source)
            for found in ALIAS.finditer(source.code):
                scope = source.scope_at(found.start())
                homes[f"{scope.name}.{found[1]}" if scope else found[1]] = self.part(source)
        return homes

    def added_methods(self):
        """Part of each method, by its name, that an extension adds away from its type, if nothing else has this name."""
        places = defaultdict(set)
        for source in self.sources:
            for found in FUNCTION.finditer(source.code):
                scope = source.scope_at(found.start())
                away = scope is not None and scope.kind == "extension" and self.homes.get(scope.name) != self.part(source)
                places[found[1]].add((self.part(source) if away else None, scope.name if scope else ""))
        return {name: home for name, ((home, _), *others) in ((name, [*it]) for name, it in places.items()) if home and not others}

    def named(self, source):
        """Position, name and home of everything from the parts that this file uses."""
        for found in CHAIN.finditer(source.code):
            words, scope = found[1].split("."), source.scope_at(found.start())
            # Like Swift's name look-up: within the type, within the types around it, outside.
            for around in [*self.around(scope), ""]:
                if name := next((it for it in self.beginnings(around, words) if it in self.homes), None):
                    yield found.start(), name, self.homes[name]
                    break
        for found in CALL.finditer(source.code):
            if home := self.methods.get(found[1]):
                yield found.start(), f"{found[1]}()", home

    @staticmethod
    def around(scope):
        if scope:
            words = scope.name.split(".")
            for count in range(len(words), 0, -1):
                yield ".".join(words[:count])

    @staticmethod
    def beginnings(around, words):
        for count in range(len(words), 0, -1):
            yield ".".join([around, *words[:count]] if around else words[:count])

    def cycle(self, without):
        """The shortest cycle if these references are left out, as a list of parts; None if there is none."""
        graph = defaultdict(set)
        for one, other in self.references:
            if (one, other) not in without:
                graph[one].add(other)
        best = None
        for start in sorted(graph):
            ways, seen = [[start]], set()
            while ways:
                way = ways.pop(0)
                for part in sorted(graph[way[-1]]):
                    if part == start and (best is None or len(way) < len(best)):
                        best = way
                    if part not in seen:
                        seen.add(part)
                        ways.append([*way, part])
        return best

    def described(self, one, other):
        found = self.references[one, other]
        return f"{one} -> {other} ({len(found)}, as {found[0][1]} in {found[0][0]})"


def cycles(parts, known):
    """New cycles, and entries that are no longer needed."""
    without = {tuple(it.split(" -> ")) for it in known}
    while cycle := parts.cycle(without):
        pairs = [*zip(cycle, [*cycle[1:], cycle[0]])]
        yield "a cycle of parts: " + "; ".join(parts.described(*it) for it in pairs)
        # To report other cycles as well, continue without the least used reference.
        without.add(min(pairs, key=lambda it: len(parts.references[it])))
    for entry in known:
        if tuple(entry.split(" -> ")) not in parts.references:
            yield f"known.json: cycles: {entry} is no more, take it out"
        elif not parts.cycle(without - {tuple(entry.split(" -> "))}):
            yield f"known.json: cycles: {entry} closes no cycle any more, take it out"


def shrink(known, parts, *counts):
    """Removes entries from `known` that are no longer needed."""
    without = {tuple(it.split(" -> ")) for it in known["cycles"]} & parts.references.keys()
    for pair in sorted(without):
        if not parts.cycle(without - {pair}):
            without.discard(pair)
    known["cycles"] = {name: reason for name, reason in known["cycles"].items() if tuple(name.split(" -> ")) in without}
    for rule, found, limit in counts:
        for name, entry in list(known[rule].items()):
            entry["count"] = min(entry["count"], found.get(name, (0, ""))[0])
            if entry["count"] <= limit:
                del known[rule][name]


def counted(rule, found, known, limit):
    """New breaches, known breaches that have grown, and entries that are no longer right. `found`: name -> (count, text)."""
    for name, (count, text) in sorted(found.items()):
        allowed = known[name]["count"] if name in known else limit
        if count > allowed:
            yield f"{text}, over {allowed}"
    for name, entry in known.items():
        count = found.get(name, (0, ""))[0]
        if count <= limit:
            yield f"known.json: {rule}: {name} is within the limit, take it out"
        elif count < entry["count"]:
            yield f"known.json: {rule}: {name} has {count} now, not {entry['count']}"


def settable(targets):
    found = {}
    for name, sources in targets.items():
        own = defaultdict(list)
        for source in sources:
            for scope in source.scopes:
                if scope.kind in ("class", "struct", "actor"):
                    own[scope.name] += [(source.place(scope.start), it[0]) for it in source.settable(scope)]
        for type_name, properties in own.items():
            if properties:
                names = ", ".join(it[1] for it in properties)
                found[f"{name}.{type_name}"] = (
                    len(properties), f"{properties[0][0]}: others may set {len(properties)} properties of {type_name}: {names}")
    return found


def spread(targets):
    found = {}
    for name, sources in targets.items():
        folders, places = defaultdict(set), {}
        for source in sources:
            for scope in source.scopes:
                if scope.kind == "extension":
                    folders[scope.name].add(source.path.parent.name)
                    places[scope.name] = source.place(scope.start)
        for type_name, it in folders.items():
            found[f"{name}.{type_name}"] = (
                len(it), f"{places[type_name]}: extensions of {type_name} are in {len(it)} folders: {', '.join(sorted(it))}")
    return found


def main():
    words = sys.argv[1:]
    package = next((pathlib.Path(it).resolve() for it in words if it != "--shrink"), ROOT)
    known = json.loads(KNOWN.read_text())
    targets = {it.name: [Source.read(path) for path in swift_files(it)] for it in sorted((package / "Sources").iterdir()) if it.is_dir()}
    parts, properties, folders = Parts(package / "Sources" / "Proxy"), settable(targets), spread(targets)
    if "--shrink" in words:
        shrink(known, parts, ("settable", properties, PROPERTIES), ("extensions", folders, FOLDERS))
        KNOWN.write_text(json.dumps(known, indent=1) + "\n")
    found = [
        *(f"known.json: {rule}: {name} has no reason" for rule, entries in known.items() for name, entry in entries.items()
          if not (entry if isinstance(entry, str) else entry["reason"]).strip()),
        *cycles(parts, known["cycles"]),
        *counted("settable", properties, known["settable"], PROPERTIES),
        *counted("extensions", folders, known["extensions"], FOLDERS),
    ]
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
