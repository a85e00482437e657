"""An ASGI application: a GET's answer is `small`, every other one's the body that came, as it comes."""


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            event = await receive()
            await send({"type": event["type"] + ".complete"})
            if event["type"] == "lifespan.shutdown":
                return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    if scope["method"] == "GET":
        await send({"type": "http.response.body", "body": b"small"})
        return
    while True:
        event = await receive()
        if event["type"] != "http.request":
            return
        await send({"type": "http.response.body", "body": event["body"], "more_body": event["more_body"]})
        if not event["more_body"]:
            return
