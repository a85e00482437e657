"""A gRPC client by other hands, which reaches `api.test` through the proxy and trusts its CA.

    client.py PROXY-PORT ROOT STEP...

Prints the name of each step that went as it must; ends with an error at the first one that did not."""

import queue
import sys
import time

import grpc

port, root, *steps = sys.argv[1:]
channel = grpc.secure_channel(
    "api.test:443",
    grpc.ssl_channel_credentials(open(root, "rb").read()),
    options=[("grpc.http_proxy", f"http://127.0.0.1:{port}"), ("grpc.enable_retries", 0)],
)
TIMEOUT = 30


def path(name):
    return "/test.Desk/" + name


def expect(found, wanted):
    if found != wanted:
        raise SystemExit(f"{found!r} instead of {wanted!r}")


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    return None, None


def unary():
    for size in (0, 1, 16_384, 1 << 20):
        expect(channel.unary_unary(path("Echo"))(b"m" * size, timeout=TIMEOUT), b"m" * size)


def metadata():
    marks = (("x-mark-bin", bytes(range(256))), ("x-mark-bin", b""), ("x-mark", "plain"))
    _, call = channel.unary_unary(path("Echo")).with_call(b"", metadata=marks, timeout=TIMEOUT)
    expect(sorted(tuple(pair) for pair in call.trailing_metadata()), sorted(marks))


def credential():
    expect(channel.unary_unary(path("Authorization"))(b"", timeout=TIMEOUT), sys.stdin.readline().strip().encode())


def down():
    messages = list(channel.unary_stream(path("Down"))(b"200", timeout=TIMEOUT))
    expect([int(message.split()[0]) for message in messages], list(range(200)))


def up():
    sent = (b"u" * 10_000 for _ in range(200))
    expect(channel.stream_unary(path("Up"))(sent, timeout=TIMEOUT), b"200 2000000")


def talk():
    outbox = queue.Queue()
    answers = channel.stream_stream(path("Talk"))(iter(outbox.get, None), timeout=TIMEOUT)
    for turn in range(30):
        question = b"question %d" % turn
        outbox.put(question)
        expect(next(answers), question)
    outbox.put(None)
    expect(list(answers), [])


def deadline():
    began = time.monotonic()
    code, _ = code_of(lambda: channel.unary_unary(path("Wait"))(b"", timeout=0.5))
    expect(code, grpc.StatusCode.DEADLINE_EXCEEDED)
    expect(time.monotonic() - began < 5, True)


def cancel():
    call = channel.unary_unary(path("Wait")).future(b"", timeout=TIMEOUT)
    # The connection stands, so that the call is on its way when it is cancelled.
    expect(channel.unary_unary(path("Echo"))(b"x", timeout=TIMEOUT), b"x")
    call.cancel()
    expect(call.code(), grpc.StatusCode.CANCELLED)


def failure():
    expect(
        code_of(lambda: channel.unary_unary(path("Fail"))(b"", timeout=TIMEOUT)),
        (grpc.StatusCode.NOT_FOUND, "kein Schlüssel"),
    )


def crowd():
    calls = [channel.unary_unary(path("Echo")).future(b"%d" % index, timeout=TIMEOUT) for index in range(60)]
    expect([int(call.result()) for call in calls], list(range(60)))


def refreshed():
    token = channel.unary_unary(path("Fresh"))(b"", timeout=TIMEOUT)
    expect(token.startswith(b"Bearer "), True)


def unavailable():
    code, details = code_of(lambda: channel.unary_unary(path("Echo"))(b"", timeout=TIMEOUT))
    expect(code, grpc.StatusCode.UNAVAILABLE)
    expect(details, "Connection refused")


for step in steps:
    globals()[step]()
    print(step, flush=True)
channel.close()
