"""Writes the figures of a run as Markdown, between two marks of a page: a table for each section."""

import itertools
import pathlib

BEGIN, END = "<!-- figures: written by `make bench` -->", "<!-- end of figures -->"
TITLES = {"haproxy": "HAProxy", "envoy": "Envoy", "squid": "Squid"}
# In the order of the columns.
PEERS = ("nginx", "haproxy", "envoy", "squid", "mitmproxy")


def number(value):
    return f"{value:,.{2 if value < 10 else 1 if value < 1000 else 0}f}"


def spread(it):
    text = number(it["median"])
    return text if it["least"] == it["most"] else f"{text} ({number(it['least'])} to {number(it['most'])})"


def figure(name, it):
    return spread(it) if name == "authproxy" else number(it["median"])


def more_is_better(row):
    return row["unit"].endswith("/s") or row["row"].endswith("per CPU second")


def best(row):
    """The name of the peer with the best median; None without peers."""
    medians = {name: row["programs"][name]["median"] for name in PEERS if name in row["programs"]}
    return (max if more_is_better(row) else min)(medians, key=medians.get, default=None)


def ratio(row, peer):
    own, base = (row["programs"].get(name, {}).get("median") for name in ("authproxy", peer))
    return f"{own / base:.2f}" if own is not None and base else ""


def compared(rows):
    """One column for each program. Only authproxy's figures have their spread, else the table would be too wide."""
    names = [name for name in ("authproxy", "over 1.1", *PEERS) if any(name in row["programs"] for row in rows)]
    ratios = ["best"] if "nginx" not in names else ["nginx", "best"]
    heads = ["", "unit", *(TITLES.get(name, name) for name in names), *(f"/ {peer}" for peer in ratios)]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for row in rows:
        programs = row["programs"]
        cells = [row["row"], row["unit"]]
        cells += [figure(name, programs[name]) if name in programs else "" for name in names]
        first = best(row)
        cells += [ratio(row, "nginx")] * ("nginx" in ratios)
        cells.append(f"{ratio(row, first)} {TITLES.get(first, first)}" if ratio(row, first) else "")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def alone(rows):
    lines = ["| | unit | | / the first |", "| --- | --- | --- | --- |"]
    for row in rows:
        programs = list(row["programs"].items())
        cells = [f"{name}: {spread(it)}" if len(programs) > 1 else spread(it) for name, it in programs]
        base = programs[0][1]["median"] if row["unit"] else 0
        ratios = [f"{it['median'] / base:.2f}" for _, it in programs[1:] if base]
        lines.append(f"| {row['row']} | {row['unit']} | {'; '.join(cells)} | {'; '.join(ratios)} |")
    return lines


def markdown(machine, results):
    versions = [f"{TITLES.get(name, name)} {machine[name]}" for name in PEERS]
    kind = [machine["processor"], f"{machine['processors']} processors", f"Linux {machine['kernel']}"]
    facts = [*kind, *versions, machine["date"], f"{machine['rounds']} rounds"]
    lines = [", ".join(facts) + "."]
    for section, rows in itertools.groupby(results, lambda row: row["section"]):
        rows = list(rows)
        lines += ["", f"**{section}**", ""]
        lines += compared(rows) if any(best(row) for row in rows) else alone(rows)
    return "\n".join(lines) + "\n"


def write(page, machine, results):
    """Replaces the text between the marks of the file `page`."""
    path = pathlib.Path(page)
    head, _, rest = path.read_text().partition(BEGIN)
    _, mark, tail = rest.partition(END)
    if not mark:
        raise SystemExit(f"{page} lacks its marks, {BEGIN} and {END}")
    path.write_text(f"{head}{BEGIN}\n{markdown(machine, results)}{END}{tail}")
