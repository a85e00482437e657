"""The picture of a run, as SVG: one group of bars for each row, every program's figure relative to nginx's."""

from xml.sax.saxutils import escape

from table import TITLES

COLOURS = {"authproxy": "#d95f02", "nginx": "#1b9e77", "haproxy": "#7570b3", "envoy": "#e7298a", "squid": "#66a61e"}
ROWS = [
    "small, https origin, 64 clients: CPU",
    "small, http origin, 64 clients: CPU",
    "small, https origin, 512 clients: CPU",
    "small, https, 64 clients, access log: CPU",
    "new client connections, https origin: CPU",
    "latency at 2000/s, https, 64 clients: CPU",
    "64 KiB, https origin, 64 clients: CPU",
    "POST of 1 MiB, https origin, 16 clients: CPU",
    "1 GiB download, https origin: CPU",
    "1 GiB upload, https origin: CPU",
    "small, hit, 64 clients: CPU",
    "small, intercepted, 64 clients: CPU",
    "start until the first 200, https origin",
    "memory at start, https origin: resident",
]
WIDTH, LEFT, BAR, GAP = 900, 300, 14, 12
# The scale ends at so many times nginx. A longer bar is cut and shows its figure.
MOST = 4


def picture(machine, results):
    rows = [r for title in ROWS for r in results if r["row"] == title and "nginx" in r["programs"]]
    bars = [[(name, it) for name, it in row["programs"].items() if name in COLOURS] for row in rows]
    height = 70 + sum(len(group) * BAR + GAP for group in bars) + 20
    facts = f'{machine["processor"]}, {machine["processors"]} processors, one worker or loop each; {machine["date"]}'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        '<text x="16" y="24" font-size="16">Cost compared with nginx and other proxies: shorter is better, nginx is 1</text>',
        f'<text x="16" y="44" fill="#555">{escape(facts)}; median of the rounds, whiskers from least to most</text>',
    ]
    full, y = WIDTH - LEFT - 150, 60
    for row, group in zip(rows, bars):
        base = row["programs"]["nginx"]["median"] or 1
        top = y
        for name, it in group:
            length, low, high = (min(it[key] / base / MOST, 1) * full for key in ("median", "least", "most"))
            middle, label = y + BAR / 2 - 1, f'{TITLES.get(name, name)} {it["median"]:.1f} {row["unit"]}'
            out += [
                f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 3}" fill="{COLOURS[name]}"/>',
                f'<path d="M{LEFT + low:.1f} {middle}H{LEFT + high:.1f}" stroke="#222" stroke-width="1"/>',
                f'<text x="{LEFT + max(length, high) + 6:.1f}" y="{y + 10}" font-size="11">{label}</text>',
            ]
            y += BAR
        out.append(f'<text x="{LEFT - 10}" y="{(top + y) / 2 + 3}" text-anchor="end">{escape(row["row"])}</text>')
        y += GAP
    one = LEFT + full / MOST
    out.append(f'<path d="M{one} 54V{y - GAP + 4}" stroke="#999" stroke-dasharray="3 3"/>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
