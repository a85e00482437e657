#!/usr/bin/env python3
"""A server for one device login, which measures the polls.

    device_server.py INTERVAL ANSWERS

INTERVAL is a number, or `absent`. ANSWERS are the polls' in turn, with commas between them: an error code, a status, or `hang`, which never
answers; then come tokens. Prints its port; then, when the tokens are sent, one line of JSON: for each poll the seconds since the answer before, or
since it was known that none comes."""

import http.server
import json
import sys
import threading
import time

interval, answers = sys.argv[1], [it for it in sys.argv[2].split(",") if it]
gaps, last = [], [0.0]
done = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # Before the client can have it, so that no gap is measured too long.
        last[0] = time.monotonic()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        base = f"http://127.0.0.1:{self.server.server_address[1]}"
        if self.path == "/device":
            value = {"device_code": "dc-5ecret", "user_code": "ABCD", "verification_uri": base + "/enter", "expires_in": 300}
            if interval != "absent":
                value["interval"] = int(interval)
            return self.reply(200, value)
        gaps.append(round(time.monotonic() - last[0], 3))
        answer = answers.pop(0) if answers else "tokens"
        if answer == "hang":
            # The client closes the connection when its patience ends.
            self.rfile.read(1)
            last[0] = time.monotonic()
        elif answer == "tokens":
            self.reply(200, {"access_token": "at-5ecret", "token_type": "Bearer", "refresh_token": "rt-5ecret"})
            done.set()
        elif answer.isdigit():
            self.reply(int(answer), {})
        else:
            self.reply(400, {"error": answer})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
done.wait(timeout=60)
print(json.dumps(gaps), flush=True)
sys.stdin.read()
