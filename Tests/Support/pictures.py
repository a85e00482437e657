#!/usr/bin/env python3
"""Makes docs/dashboard-light.png and docs/dashboard-dark.png: the dashboard of the demo, after some minutes of load, in Chromium.

    pictures.py PROGRAM [--seconds N] [--out FOLDER]

Needs the packages of requirements.txt, and chromium.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from browser import Browser  # noqa: E402

# How often apps ask for each.
MIX = [
    ("http://api.demo.internal/hello", 40), ("http://api.demo.internal/orders/7", 25),
    ("http://events.demo.internal/feed", 30),
    ("http://camera.demo.internal/picture", 8), ("http://prices.demo.internal/prices", 50),
    ("http://store.demo.internal/note", 12),
    ("http://retired.demo.internal/hello", 0.4), ("http://mail.demo.internal/inbox", 0.3), ("http://other.demo.internal/", 0.2),
    ("http://api.demo.internal/revoke", 0.1),
]


def load(proxy, until):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
    urls, weights = zip(*MIX)
    while (now := time.monotonic()) < until:
        try:
            opener.open(random.choices(urls, weights)[0], timeout=10).read()
        except urllib.error.HTTPError:
            pass
        # A wave of a minute.
        time.sleep(random.expovariate(14 + 9 * abs((now / 60) % 2 - 1)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=310)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs")
    options = parser.parse_args()
    demo = subprocess.Popen([options.program, "demo"], stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        for line in demo.stdout:
            text += line
            if "Ctrl-C" in line:
                break
        proxy = re.search(r"http_proxy=(\S+)", text)[1]
        page = re.search(r"^ +(http://\S+/)$", text, re.M)[1]
        # What it tells goes nowhere; unread, it would stop.
        threading.Thread(target=lambda: [None for _ in demo.stdout], daemon=True).start()
        put = urllib.request.Request("http://store.demo.internal/note", b"a note", method="PUT")
        urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy})).open(put, timeout=10).read()
        until = time.monotonic() + options.seconds
        apps = [threading.Thread(target=load, args=(proxy, until)) for _ in range(4)]
        for app in apps:
            app.start()
        # While the apps still ask.
        time.sleep(max(options.seconds - 15, 1))
        browser = Browser("chromium")
        try:
            for scheme in ["light", "dark"]:
                browser.open(page, width=1440, height=1500, scheme=scheme)
                time.sleep(3)
                browser.shoot(options.out / f"dashboard-{scheme}.png")
        finally:
            browser.end()
        for app in apps:
            app.join()
    finally:
        demo.terminate()
        demo.wait()


if __name__ == "__main__":
    main()
