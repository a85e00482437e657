"""requests_oauth2client at the demo's login server: each way in and out, and what the server must refuse.

    client.py ISSUER API CA

API is the URL of the demo's API, CA the file of its CA. Prints a line for each step; a failure ends it with a traceback."""

import base64
import hashlib
import sys
import urllib.parse

import requests
from requests_oauth2client import OAuth2Client, exceptions
from requests_oauth2client.dpop import DPoPKey

ISSUER, API, CA = sys.argv[1:]
CALLBACK = "http://127.0.0.1:1/callback"
PERSON = "ann"

session = requests.Session()
session.trust_env = False
other_document = session.get(ISSUER + "/.well-known/oauth-authorization-server").json()
assert other_document == session.get(ISSUER + "/.well-known/openid-configuration").json()
# The library refuses http, which is right for servers beyond loopback, and reads no endpoint for devices from metadata.
client = OAuth2Client.from_discovery_endpoint(
    issuer=ISSUER, url=ISSUER + "/.well-known/openid-configuration", client_id="demo-app", redirect_uri=CALLBACK, testing=True,
    session=session, id_token_signed_response_alg="ES256",
    device_authorization_endpoint=other_document["device_authorization_endpoint"])


def answer(url, decision="allow", name=PERSON):
    """The page, and where the browser goes after the decision."""
    page = session.get(url)
    assert page.status_code == 200, page.text
    assert "<script" not in page.text and page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    uri = page.text.split('name="request" value="')[1].split('"')[0]
    gone = session.post(ISSUER + "/authorize", data={"request": uri, "name": name, "decision": decision}, allow_redirects=False)
    assert gone.status_code == 303, gone.text
    return gone.headers["Location"]


def code(**options):
    request = client.authorization_request(scope="openid mail.read", **options)
    return request.validate_callback(answer(client.pushed_authorization_request(request).uri))


def refused(expected, call):
    try:
        call()
    except expected as error:
        return error
    raise AssertionError(f"not refused with {expected}")


def api(token, **options):
    return session.get(API + "/hello", verify=CA, **({"auth": token} | options))


def step(text):
    print(text, flush=True)


# Authorization code with PKCE and PAR. The library checks state, iss, and the id_token with its signature and nonce.
token = client.authorization_code(code())
assert token.token_type == "Bearer" and token.id_token.sub == "user-ann", token
assert api(token).json()["accepted"].endswith("of ann")
step("code")

# The same without PAR.
request = client.authorization_request(scope="openid")
client.authorization_code(request.validate_callback(answer(request.uri)))
step("code without PAR")

renewed = client.refresh_token(token)
assert renewed.refresh_token != token.refresh_token and renewed.access_token != token.access_token
assert api(renewed).ok
refused(exceptions.InvalidGrant, lambda: client.refresh_token(token))
assert api(renewed).status_code == 401, "a refresh token that comes twice ends its login"
refused(exceptions.InvalidGrant, lambda: client.refresh_token(renewed))
step("refresh with rotation")

token = client.authorization_code(code())
assert client.revoke_access_token(token) is True
assert api(token).status_code == 401
renewed = client.refresh_token(token)
assert api(renewed).ok
assert client.revoke_refresh_token(renewed) is True
assert api(renewed).status_code == 401, "its access token goes with it"
refused(exceptions.InvalidGrant, lambda: client.refresh_token(renewed))
assert client.revoke_refresh_token("unknown") is True
step("revocation")

got = code()
token = client.authorization_code(got)
refused(exceptions.InvalidGrant, lambda: client.authorization_code(got))
assert api(token).status_code == 401, "a code that comes twice ends its login"
got = code()
refused(exceptions.InvalidGrant, lambda: client.authorization_code(
    got.code, code_verifier="x" * 43, redirect_uri=CALLBACK))
got = code()
refused(exceptions.InvalidGrant, lambda: client.authorization_code(
    got.code, code_verifier=got.code_verifier, redirect_uri=CALLBACK + "/"))
request = client.authorization_request(scope="openid")
location = answer(request.uri, decision="deny")
denied = refused(exceptions.AuthorizationResponseError, lambda: request.validate_callback(location))
assert denied.error == "access_denied"
step("refusals")


def page(**changed):
    right = urllib.parse.urlsplit(client.authorization_request(scope="openid").uri).query
    query = {**dict(urllib.parse.parse_qsl(right)), **changed}
    query = {name: value for name, value in query.items() if value is not None}
    return session.get(ISSUER + "/authorize?" + urllib.parse.urlencode(query), allow_redirects=False)


for changed in [{"client_id": "other"}, {"redirect_uri": "https://evil.example/"}, {"redirect_uri": "http://127.0.0.1.evil.example/"}]:
    assert page(**changed).status_code == 400, "nothing is sent to a foreign URL"
for changed, error in [
    ({"code_challenge_method": "plain"}, "invalid_request"), ({"code_challenge": None}, "invalid_request"),
    ({"response_type": "token"}, "unsupported_response_type"),
]:
    location = page(**changed).headers["Location"]
    found = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location).query))
    assert location.startswith(CALLBACK) and found["error"] == error and found["iss"] == ISSUER and found["state"], location
hostile = page(scope='"><script>alert(1)</script>')
assert "<script" not in hostile.text and "&lt;script" in hostile.text
step("authorization requests")

# A device. The pages are the server's own.
device = client.authorize_device(scope="openid mail.read")
assert device.interval == 2 and device.verification_uri_complete.endswith(device.user_code)
refused(exceptions.AuthorizationPending, lambda: client.device_code(device.device_code))
refused(exceptions.SlowDown, lambda: client.device_code(device.device_code))
typed = device.user_code.lower().replace("-", " ")
assert session.post(ISSUER + "/device", data={"user_code": typed, "name": PERSON, "decision": "deny"}).ok
wrong = session.post(ISSUER + "/device", data={"user_code": typed, "name": PERSON, "decision": "allow"})
assert wrong.status_code == 400, "a decision counts once"
device = client.authorize_device(scope="openid mail.read")
assert session.post(ISSUER + "/device", data={"user_code": device.user_code, "name": PERSON, "decision": "allow"}).ok
token = client.device_code(device.device_code)
assert api(token).ok and token.id_token is not None
refused(exceptions.ExpiredToken, lambda: client.device_code(device.device_code))
step("device")

# DPoP: the library repeats a request once with the nonce that the server demands.
got = code(dpop=True)
assert got.dpop_key is not None
# The library cannot validate an id_token beside a token with a key.
token = client.authorization_code(got, validate=False)
assert token.token_type == "DPoP"
assert api(token).ok
bearer = {"Authorization": f"Bearer {token.access_token}"}
assert api(None, headers=bearer).status_code == 401, "no proof"
seen = {}
assert api(token, hooks={"response": lambda answer, **_: seen.update(answer.request.headers)}).ok
again = {name: seen[name] for name in ("Authorization", "DPoP")}
assert api(None, headers=again).status_code == 401, "a proof counts once"
digest = base64.urlsafe_b64encode(hashlib.sha256(token.access_token.encode()).digest()).rstrip(b"=").decode()
for key, status in [(token.dpop_key, 200), (DPoPKey.generate("ES256"), 401)]:
    proof = str(key.proof(htm="GET", htu=API + "/hello", ath=digest, nonce=token.dpop_key.rs_nonce))
    given = {"Authorization": f"DPoP {token.access_token}", "DPoP": proof}
    assert api(None, headers=given).status_code == status, "another key"
renewed = client.refresh_token(token)
assert renewed.token_type == "DPoP" and api(renewed).ok
form = {"grant_type": "refresh_token", "refresh_token": renewed.refresh_token}
refused(exceptions.InvalidGrant, lambda: client.token_request(form, dpop=True, dpop_key=DPoPKey.generate("ES256")))
refused(exceptions.InvalidGrant, lambda: client.token_request(form))
device = client.authorize_device(scope="mail.read")
session.post(ISSUER + "/device", data={"user_code": device.user_code, "name": PERSON, "decision": "allow"})
assert client.device_code(device.device_code, dpop=True).token_type == "DPoP"
step("DPoP")
