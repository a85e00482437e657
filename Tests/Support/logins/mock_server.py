"""oidc-provider-mock, whose provider is Authlib's. It has no revocation endpoint, and its refresh tokens do not rotate.

Prints one line of JSON, and ends with its standard input. /expire makes all access tokens expire."""

import dataclasses
import json
import logging
import os
import sys
import threading
import warnings
from wsgiref.simple_server import WSGIRequestHandler, make_server

warnings.simplefilter("ignore")
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import oidc_provider_mock  # noqa: E402
from oidc_provider_mock._storage import storage  # noqa: E402

logging.disable()
app = oidc_provider_mock.app()


@app.get("/expire")
def expire():
    for token in storage.access_tokens():
        storage.store_access_token(dataclasses.replace(token, expires_at=token.expires_at.replace(year=2000)))
    return ""


class Handler(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


server = make_server("127.0.0.1", 0, app, handler_class=Handler)
base = f"http://127.0.0.1:{server.server_port}"
threading.Thread(target=server.serve_forever, daemon=True).start()
facts = {
    "base": base, "issuer": base, "api": "/userinfo", "client_id": "app", "client_secret": "client-5ecret", "fields": {"sub": "ann"}, "expire": "/expire",
    "revoke": "/users/ann/revoke-tokens",
}
print(json.dumps(facts), flush=True)
sys.stdin.read()
