#!/usr/bin/env python3
"""Says of servers on this machine whether they are who they claim to be: judge.py ROOTS NAME PORT...

A line each: `accepted`, or `refused` and the reason. Verifies strictly, as Python does by default since 3.13."""

import socket
import ssl
import sys

context = ssl.create_default_context(cafile=sys.argv[1])
context.verify_flags |= ssl.VERIFY_X509_STRICT
for name, port in zip(sys.argv[2::2], sys.argv[3::2]):
    try:
        with context.wrap_socket(socket.create_connection(("127.0.0.1", int(port))), server_hostname=name):
            print("accepted")
    except ssl.SSLError as error:
        print("refused", error)
