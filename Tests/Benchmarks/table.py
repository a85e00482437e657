"""Writes the figures of a run as Markdown, between two marks of a page."""

import pathlib

BEGIN, END = "<!-- figures: written by `make bench` -->", "<!-- end of figures -->"


def figure(it):
    digits = 2 if it["median"] < 10 else 1 if it["median"] < 1000 else 0
    text = f"{it['median']:,.{digits}f}"
    return text if it["least"] == it["most"] else f"{text} ({it['least']:,.{digits}f} to {it['most']:,.{digits}f})"


def markdown(machine, results):
    lines = [", ".join([machine["processor"], f"{machine['processors']} processors", f"Linux {machine['kernel']}", machine["nginx"],
                        machine["haproxy"].split(" - ")[0], machine["date"]]) + ".", ""]
    compared = [r for r in results if "nginx" in r["programs"]]
    names = list(dict.fromkeys(name for row in compared for name in row["programs"]))
    lines += [f"| | unit | {' | '.join(names)} | authproxy / nginx |", "| --- " * (len(names) + 3) + "|"]
    for row in compared:
        cells = [figure(row["programs"][name]) if name in row["programs"] else "" for name in names]
        own, base = (row["programs"].get(name, {}).get("median") for name in ("authproxy", "nginx"))
        ratio = f"{own / base:.2f}" if own is not None and base else ""
        lines.append(f"| {row['row']} | {row['unit']} | {' | '.join(cells)} | {ratio} |")
    lines += ["", "| authproxy alone | unit | |", "| --- | --- | --- |"]
    for row in results:
        if row not in compared:
            many = len(row["programs"]) > 1
            cells = [(f"{name}: " if many else "") + figure(it) for name, it in row["programs"].items()]
            lines.append(f"| {row['row']} | {row['unit']} | {'; '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write(page, machine, results):
    """Replaces the text between the marks of the file `page`."""
    path = pathlib.Path(page)
    head, _, rest = path.read_text().partition(BEGIN)
    _, mark, tail = rest.partition(END)
    if not mark:
        raise SystemExit(f"{page} lacks its marks, {BEGIN} and {END}")
    path.write_text(f"{head}{BEGIN}\n{markdown(machine, results)}{END}{tail}")
