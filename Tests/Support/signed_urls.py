"""An API that answers with signed URLs, and the object store behind them; for origin.py.

    /issue/KEY?store=URL   with any Authorization: 302 to URL/object/KEY with a signature in its query
    /object/KEY?...        200 with the object if the signature is good; 400 if the request has an Authorization as well, as S3's stores
                           answer; 403 without a good signature. PUT stores an object (an `/issue` with PUT or POST signs that, by 307)
"""

import hashlib
import hmac
import time
import urllib.parse

SECRET = b"store-5ecret"
objects = {}


def signature(method, key, expires):
    text = f"{'GET' if method == 'HEAD' else method}\n{key}\n{expires}"
    return hmac.new(SECRET, text.encode(), hashlib.sha256).hexdigest()


def serve(connection, exchange, parts, answer):
    method, query, key = exchange["method"], exchange["query"], "/".join(parts[1:])
    authorizations = [v for n, v in exchange["fields"] if n.lower() == "authorization"]
    if parts[0] == "issue":
        if not authorizations:
            return answer(connection, exchange, 401, "who are you?\n")
        expires = int(time.time()) + 60
        signed = {"X-Amz-Expires": expires, "X-Amz-Signature": signature(method, key, expires)}
        if "name" in query:
            signed["id"] = query["name"]
        location = f"{query['store']}/object/{urllib.parse.quote(key)}?{urllib.parse.urlencode(signed)}"
        status = 302 if method in ("GET", "HEAD") else 307
        return answer(connection, exchange, status, "", [("Location", location)])
    if authorizations and "X-Amz-Signature" in query:
        text = "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter or the Authorization header"
        return answer(connection, exchange, 400, f"<Error><Code>InvalidArgument</Code><Message>{text}</Message></Error>")
    expires = query.get("X-Amz-Expires", "0")
    good = signature(method, key, expires)
    if not hmac.compare_digest(good, query.get("X-Amz-Signature", "")) or int(expires) < time.time():
        return answer(connection, exchange, 403, "<Error><Code>SignatureDoesNotMatch</Code></Error>")
    if method in ("PUT", "POST"):
        objects[key] = exchange["body"].encode("latin-1")
        return answer(connection, exchange, 200, "")
    if key not in objects:
        return answer(connection, exchange, 404, "<Error><Code>NoSuchKey</Code></Error>")
    return answer(connection, exchange, 200, objects[key])
