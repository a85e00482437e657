"""The picture of a run, as SVG: one group of bars for each row, every program's figure relative to nginx's."""

from xml.sax.saxutils import escape

COLOURS = {"authproxy": "#d95f02", "nginx": "#1b9e77", "haproxy": "#7570b3"}
ROWS = [
    "small, https origin, 64 clients: CPU",
    "small, http origin, 64 clients: CPU",
    "small, https origin, 1 clients: CPU",
    "small, https origin, 512 clients: CPU",
    "small, https, 64 clients, access log: CPU",
    "new client connections, https origin: CPU",
    "64 KiB, https origin, 64 clients: CPU",
    "1 GiB download, https origin: CPU",
    "1 GiB upload, https origin: CPU",
    "latency at 5000/s, https, 64 clients: p99",
    "memory at start, resident",
]
WIDTH, LEFT, BAR, GAP = 900, 300, 16, 14


def picture(machine, results):
    rows = [r for title in ROWS for r in results if r["row"] == title and len(r["programs"]) > 1]
    height = 70 + sum(len(r["programs"]) * BAR + GAP for r in rows) + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        '<text x="16" y="24" font-size="16">Cost compared with nginx and HAProxy: shorter is better, nginx is 1</text>',
        f'<text x="16" y="44" fill="#555">{escape(machine["processor"])}, {machine["processors"]} processors, one worker or loop each; '
        f'median of the rounds, whiskers from least to most; {machine["date"]}</text>',
    ]
    # The scale ends at 2.5 times nginx. A longer bar is cut and shows its figure.
    full, most = WIDTH - LEFT - 130, 2.5
    y = 60
    for row in rows:
        base = row["programs"].get("nginx", next(iter(row["programs"].values())))["median"] or 1
        top = y
        for name, it in row["programs"].items():
            length = min(it["median"] / base / most, 1) * full
            low, high = (LEFT + min(it[key] / base / most, 1) * full for key in ("least", "most"))
            middle = y + BAR / 2 - 1
            out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 3}" fill="{COLOURS.get(name, "#888")}"/>')
            out.append(f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#222" stroke-width="1"/>')
            out.append(
                f'<text x="{LEFT + max(length, high - LEFT) + 6:.1f}" y="{y + 11}" font-size="11">{name} {it["median"]:.1f} {row["unit"]}</text>'
            )
            y += BAR
        out.append(f'<text x="{LEFT - 10}" y="{(top + y) / 2 + 3}" text-anchor="end">{escape(row["row"])}</text>')
        y += GAP
    one = LEFT + full / most
    out.append(f'<path d="M{one} 54V{y - GAP + 4}" stroke="#999" stroke-dasharray="3 3"/>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
