#!/usr/bin/env python3
"""Drives Chromium over its DevTools protocol: one step a line on standard input, in JSON, and one answer a line.

    browser.py [PROGRAM]

Steps, by their `do`:
    open    `url`; with `width` and `height` (1280 x 900), `scheme` (light or dark), `script` (false: JavaScript is off)
    eval    the value of `text`, an expression
    wait    the value of `text`, as soon as it is true; `seconds` (30)
    seen    what the page has done since `open`: URLs asked for, texts in the console, dialogs
    busy    seconds of processor time that the page's thread has used
    shoot   a picture at `path`
The first line of output is `ready`.
"""

import base64
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time

from websockets.sync.client import connect


class Browser:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="browser")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--disable-background-networking", "--disable-component-update", "--no-proxy-server",
             "--remote-debugging-port=0",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"ws://\S+", line):
                break
        else:
            raise SystemExit("Chromium did not start")
        self.socket = connect(found[0], max_size=None)
        self.number = 0
        self.session = self.target = None
        self.events = []

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv(timeout=60))
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        if event.get("sessionId") != self.session:
            return
        self.events.append(event)
        # A dialog would stop the page, and everything asked of it.
        if event.get("method") == "Page.javascriptDialogOpening":
            self.number += 1
            answer = {"method": "Page.handleJavaScriptDialog", "params": {"accept": False}}
            self.socket.send(json.dumps({"id": self.number, "sessionId": self.session, **answer}))

    def open(self, url, width=1280, height=900, scheme="light", script=True):
        self.session = None
        former, self.target = self.target, self.call("Target.createTarget", url="about:blank")["targetId"]
        if former:
            self.call("Target.closeTarget", targetId=former)
        self.session = self.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.events = []
        for domain in ["Page", "Network", "Runtime", "Log"]:
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url=url)
        return self.wait("document.readyState === 'complete' && location.href !== 'about:blank'", 30)

    def eval(self, text):
        result = self.call("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{text}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, text, seconds):
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.eval(text)
            except RuntimeError:
                # A page that loads anew has nothing yet.
                value = None
            if value or time.monotonic() > end:
                return value
            time.sleep(0.05)

    def seen(self):
        # What has come meanwhile.
        self.eval("1")
        urls, texts, dialogs = [], [], []
        for event in self.events:
            parameters = event.get("params", {})
            match event.get("method"):
                case "Network.requestWillBeSent":
                    urls.append(parameters["request"]["url"])
                case "Runtime.consoleAPICalled":
                    texts += [str(each.get("value")) for each in parameters["args"]]
                case "Runtime.exceptionThrown":
                    texts.append(json.dumps(parameters["exceptionDetails"]))
                case "Log.entryAdded":
                    texts.append(parameters["entry"]["text"])
                case "Page.javascriptDialogOpening":
                    dialogs.append(parameters["message"])
        return {"urls": urls, "texts": texts, "dialogs": dialogs}

    def busy(self):
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "TaskDuration")

    def shoot(self, path):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=False)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
        return True

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    browser = Browser(sys.argv[1] if len(sys.argv) > 1 else "chromium")
    print("ready", flush=True)
    try:
        for line in sys.stdin:
            step = json.loads(line)
            word = step.pop("do")
            if word == "wait":
                step.setdefault("seconds", 30)
            try:
                answer = {"value": getattr(browser, word)(**step)}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)
    finally:
        browser.end()


if __name__ == "__main__":
    main()
