"""Canaille through pytest-iam: `pytest -q -s canaille_server.py`. It compares redirect URIs with their ports, sends no id_token with a refresh, and its
refresh tokens expire with the access token, here after 6 seconds.

Prints one line of JSON, and ends with its standard input."""

import json
import sys

import portpicker
import pytest
from canaille.app import models

PASSWORD = "pw-5ecret-of-ann"
# Its revocation endpoint takes no public client.
SECRET = "client-5ecret-of-canaille"


@pytest.fixture(scope="session")
def iam_configuration(iam_configuration):
    lifetimes = {"authorization_code": 6, "refresh_token": 6}
    return {**iam_configuration, "OAUTH2_TOKEN_EXPIRES_IN": lifetimes}


def test_serve(iam_server):
    callback = f"http://127.0.0.1:{portpicker.pick_unused_port()}/callback"
    iam_server.random_user(user_name="ann", password=PASSWORD, emails=["ann@example.test"])
    with iam_server.app.app_context():
        client = models.Client(
            client_id="app", client_name="app", contacts=["ann@example.test"], client_uri="https://app.example.test",
            redirect_uris=[callback], grant_types=["authorization_code", "refresh_token"], response_types=["code"],
            scope=["openid", "profile", "email"], token_endpoint_auth_method="client_secret_basic", client_secret=SECRET)
        iam_server.backend.save(client)
        client.audience = [client]
        iam_server.backend.save(client)
    base = iam_server.url.rstrip("/")
    facts = {
        "base": base, "issuer": base, "api": "/oauth/userinfo", "client_id": "app", "client_secret": SECRET, "redirect_uri": callback,
        "fields": {"login": "ann", "password": PASSWORD, "answer": "accept"},
    }
    print("\n" + json.dumps(facts), flush=True)
    sys.stdin.read()
