"""Writes one record of a token store, as `authproxy login` and `logout` do: under both locks, as a whole, and with their format.

Usage: token_store.py FILE CREDENTIAL TOKEN_URL CLIENT_ID MEMBERS
MEMBERS are JSON; tokens are plain text there. `generation` is one more than the record's, and at least the time.
"""

import base64
import fcntl
import hashlib
import json
import os
import sys
import time

path, name, url, client, members = sys.argv[1:]


def encoded(data):
    return base64.b64encode(data).decode()


def binding():
    message = b""
    for part in (b"authproxy token binding 1", b"token", url.encode(), client.encode(), b"login"):
        message += len(part).to_bytes(4, "big") + part
    return encoded(hashlib.sha256(message).digest())


def locked(suffix):
    descriptor = os.open(path + suffix, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


locks = [locked(f".{name}.lock"), locked(".lock")]
try:
    with open(path) as file:
        store = json.load(file)
except FileNotFoundError:
    store = {"version": 1, "credentials": {}}
old = store["credentials"].get(name, {}).get("generation", 0)
record = json.loads(members)
for key in ("refresh_token", "access_token"):
    if key in record:
        record[key] = encoded(record[key].encode())
store["credentials"][name] = {"binding": binding(), "generation": max(old + 1, int(time.time())), **record}
with open(os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
    file.write(json.dumps(store, separators=(",", ":")))
os.rename(path + ".tmp", path)
