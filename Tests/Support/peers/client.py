#!/usr/bin/env python3
"""An app that asks for one URL: client.py urllib|requests|httpx [--strict] URL [FILE]

Prints the body of the answer; with FILE it posts that. It knows no proxy and no CA but those of its environment. --strict verifies as
Python does by default since 3.13."""

import ssl
import sys


def strict():
    made = ssl.create_default_context()
    made.verify_flags |= ssl.VERIFY_X509_STRICT
    return made


def of_urllib(url, body, context):
    import urllib.request

    with urllib.request.urlopen(urllib.request.Request(url, data=body), context=context, timeout=30) as answer:
        return answer.read()


def of_requests(url, body, context):
    import requests
    from requests.adapters import HTTPAdapter

    class Strict(HTTPAdapter):
        def init_poolmanager(self, *arguments, **named):
            super().init_poolmanager(*arguments, ssl_context=context, **named)

        def proxy_manager_for(self, proxy, **named):
            return super().proxy_manager_for(proxy, ssl_context=context, **named)

    with requests.Session() as session:
        if context:
            session.mount("https://", Strict())
        answer = session.request("POST" if body else "GET", url, data=body, timeout=30)
        answer.raise_for_status()
        return answer.content


def of_httpx(url, body, context):
    import httpx

    with httpx.Client(verify=context or True, timeout=30) as client:
        answer = client.request("POST" if body else "GET", url, content=body)
        answer.raise_for_status()
        return answer.content


arguments = [a for a in sys.argv[1:] if a != "--strict"]
library, url, *file = arguments
data = open(file[0], "rb").read() if file else None
ask = {"urllib": of_urllib, "requests": of_requests, "httpx": of_httpx}[library]
sys.stdout.buffer.write(ask(url, data, strict() if "--strict" in sys.argv else None))
