#!/usr/bin/env python3
"""Checks docs/grafana.json. Prints each mistake, and fails if there is one.

- Each metric of an expression is in docs/metrics.md, and has the labels that the expression and its legend name.
- Each panel has a title of its own, a description, and a unit; each row has panels.
- No two panels overlap, and no ID occurs twice.
- Each variable ($name) is defined.
"""

import itertools
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Labels that Prometheus adds, and the one of a histogram's buckets.
GENERAL = {"instance", "job", "le"}
# Variables that Grafana has of its own.
BUILT_IN = {"__rate_interval", "__interval", "__range", "__all"}
METRIC = re.compile(r"\b(?:authproxy|process)_[a-z0-9_]+")


def metrics(page):
    """Each metric of the page's table, with its labels and its type."""
    rows = re.finditer(r"^\| `([a-z0-9_]+)(?:\{([a-z,]+)\})?` \| (\w+) \|", page, re.M)
    return {row[1]: (set((row[2] or "").split(",")) - {""}, row[3]) for row in rows}


def series(name, known):
    """The metric that a series belongs to: a histogram has several."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if known.get(base, (None, None))[1] == "histogram" else name


def mistakes_in(expression, legend, known):
    names = {series(each, known) for each in METRIC.findall(expression)}
    for name in sorted(names - known.keys()):
        yield f"metrics.md has no {name}"
    if not names:
        yield "an expression without a metric"
    labels = set(re.findall(r"\{\{(\w+)\}\}", legend))
    for listed in re.findall(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)", expression):
        labels |= {each.strip() for each in listed.split(",")}
    for name in sorted(names & known.keys()):
        own = known[name][0] | GENERAL
        # Between the braces that follow this metric.
        for selector in re.findall(rf"\b{name}(?:_bucket|_sum|_count)?\{{([^}}]*)\}}", expression):
            labels_here = set(re.findall(r"(\w+)\s*[=!]~?\s*\"", selector))
            for label in sorted(labels_here - own):
                yield f"{name} has no label {label}"
    for label in sorted(labels - GENERAL - set().union(*(known[name][0] for name in names & known.keys()))):
        yield f"no metric of the expression has the label {label}"


def overlap(one, other):
    a, b = one["gridPos"], other["gridPos"]
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]


def mistakes(dashboard, known):
    panels = dashboard["panels"]
    variables = {each["name"] for each in dashboard["templating"]["list"]} | BUILT_IN
    for name in sorted(set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard))) - variables):
        yield f"variable ${name} is not defined"
    for one, other in itertools.combinations(panels, 2):
        if one["id"] == other["id"]:
            yield f"panel {one['title']!r}: has the ID of {other['title']!r}"
        if overlap(one, other):
            yield f"panel {one['title']!r}: overlaps {other['title']!r}"
    row, titles = None, set()
    for panel in panels:
        place = f"panel {panel['title']!r}: "
        if panel["type"] == "row":
            row = panel["title"]
            continue
        if (row, panel["title"]) in titles:
            yield place + "its row has another one of this title"
        titles.add((row, panel["title"]))
        if panel["gridPos"]["x"] + panel["gridPos"]["w"] > 24:
            yield place + "goes beyond the right edge"
        if not panel.get("description"):
            yield place + "has no description"
        if not panel["fieldConfig"]["defaults"].get("unit"):
            yield place + "has no unit"
        if not panel["targets"]:
            yield place + "shows nothing"
        for target in panel["targets"]:
            for mistake in mistakes_in(target["expr"], target.get("legendFormat", ""), known):
                yield place + mistake
    rows = {panel["title"] for panel in panels if panel["type"] == "row"}
    for title in sorted(rows - {row for row, _ in titles}):
        yield f"row {title!r} has no panel"


def main():
    known = metrics((ROOT / "docs/metrics.md").read_text())
    found = list(mistakes(json.loads((ROOT / "docs/grafana.json").read_text()), known))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
