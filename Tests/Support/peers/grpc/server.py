"""A gRPC server by other hands, without protobuf: messages are bytes.

    server.py CERTIFICATE KEY

The first line on standard output is its port. Ends with its standard input.

| method of /test.Desk | |
| --- | --- |
| Echo | the message, and the metadata `x-mark-bin` and `x-mark` as trailers |
| Authorization | the metadata `authorization` |
| Down | as many messages as the message says |
| Up | how many messages came, and their bytes |
| Talk | each message once more, at once |
| Wait | nothing until the call ends; then prints `ended` |
| Fail | status NOT_FOUND with a message beyond ASCII |
| Fresh | UNAUTHENTICATED for the first token that it sees; every other token gets `authorization` |
"""

import sys
import threading
from concurrent import futures

import grpc

refused = []
lock = threading.Lock()


def metadata(context, name):
    return [value for key, value in context.invocation_metadata() if key == name]


def echo(message, context):
    context.set_trailing_metadata(
        tuple((name, value) for name in ("x-mark-bin", "x-mark") for value in metadata(context, name))
    )
    return message


def authorization(_, context):
    return ",".join(metadata(context, "authorization")).encode()


def down(message, _):
    for index in range(int(message)):
        yield b"%d " % index + b"x" * 10_000


def up(messages, _):
    sizes = [len(message) for message in messages]
    return b"%d %d" % (len(sizes), sum(sizes))


def talk(messages, _):
    yield from messages


def wait(_, context):
    over = threading.Event()
    context.add_callback(over.set)
    over.wait()
    print("ended", flush=True)
    return b""


def fail(_, context):
    context.abort(grpc.StatusCode.NOT_FOUND, "kein Schlüssel")


def fresh(message, context):
    token = authorization(message, context)
    with lock:
        if not refused:
            refused.append(token)
    if token in refused:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "expired")
    return token


certificate, key = (open(path, "rb").read() for path in sys.argv[1:3])
server = grpc.server(futures.ThreadPoolExecutor(max_workers=100))
methods = {
    "Echo": grpc.unary_unary_rpc_method_handler(echo),
    "Authorization": grpc.unary_unary_rpc_method_handler(authorization),
    "Down": grpc.unary_stream_rpc_method_handler(down),
    "Up": grpc.stream_unary_rpc_method_handler(up),
    "Talk": grpc.stream_stream_rpc_method_handler(talk),
    "Wait": grpc.unary_unary_rpc_method_handler(wait),
    "Fail": grpc.unary_unary_rpc_method_handler(fail),
    "Fresh": grpc.unary_unary_rpc_method_handler(fresh),
}
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Desk", methods),))
port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
server.start()
print(port, flush=True)
sys.stdin.read()
server.stop(0)
