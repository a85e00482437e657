"""Starts Envoy: in front of the origin, and as a proxy for CONNECT. One worker beside its main thread."""

import pathlib
import shutil

from servers import TOKEN, Server, free_port

TYPES = "type.googleapis.com/envoy.extensions"


def program():
    """The path of the program itself. The package's `envoy` is a Python script that executes it: its time is not Envoy's."""
    found = shutil.which("envoy")
    if found:
        packages = pathlib.Path(found).resolve().parent.parent / "lib"
        return next(map(str, packages.glob("python*/site-packages/envoy/_bin/envoy")), found)
    return None


def start(path, port):
    words = ["-c", str(path), "--concurrency", "1", "--disable-hot-restart", "-l", "off"]
    return Server("envoy", [program(), *words], port)


def listener(port, manager, security=""):
    """`manager`: lines of the connection manager, after eight spaces."""
    return f"""\
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    tcp_backlog_size: 4096
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": {TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: apps
          generate_request_id: false
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": {TYPES}.filters.http.router.v3.Router, suppress_envoy_headers: true}}
{manager}{security}"""


def cluster(name, port, rest=""):
    endpoint = f"{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}}}}}"
    return f"""\
  clusters:
  - name: {name}
    type: STATIC
    load_assignment:
      cluster_name: {name}
      endpoints: [{{lb_endpoints: [{endpoint}]}}]
{rest}"""


def plain(folder, origin, tls, access_log=False, front=False, http2=False):
    """`front`: TLS towards the app. `http2`: towards the origin."""
    port = free_port()
    target = origin.tls_port if tls else origin.port
    version = "http2_protocol_options: {max_concurrent_streams: 256}" if http2 else "http_protocol_options: {}"
    verified = f"""\
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": {TYPES}.transport_sockets.tls.v3.UpstreamTlsContext
        sni: localhost
        common_tls_context:
          alpn_protocols: [{"h2" if http2 else "http/1.1"}]
          validation_context:
            trusted_ca: {{filename: {folder}/ca.pem}}
            match_typed_subject_alt_names: [{{san_type: DNS, matcher: {{exact: localhost}}}}]
""" if tls else ""
    own = f"""\
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": {TYPES}.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context:
            tls_certificates:
            - {{certificate_chain: {{filename: {folder}/front.pem}}, private_key: {{filename: {folder}/front.key}}}}
""" if front else ""
    kind = f"{'-h2' if http2 else ''}{'-front' if front else ''}{'-log' if access_log else ''}"
    name = f"envoy-{'https' if tls else 'http'}{kind}"
    log = f"""\
          access_log:
          - name: envoy.access_loggers.file
            typed_config: {{"@type": {TYPES}.access_loggers.file.v3.FileAccessLog, path: {folder}/{name}.log}}
""" if access_log else ""
    manager = f"""\
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{{match: {{prefix: /}}, route: {{cluster: api, timeout: 0s, host_rewrite_literal: "localhost:{target}"}}}}]
              request_headers_to_add:
              - {{header: {{key: Authorization, value: "Bearer {TOKEN}"}}, append_action: OVERWRITE_IF_EXISTS_OR_ADD}}
{log}"""
    options = f"""\
    circuit_breakers: {{thresholds: [{{max_connections: 1024, max_requests: 12000, max_pending_requests: 12000}}]}}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": {TYPES}.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{{version}}}
{verified}"""
    path = folder / f"{name}.yaml"
    path.write_text(listener(port, manager, own) + cluster("api", target, options))
    server = start(path, port)
    server.app_ca = folder / "ca.pem" if front else None
    return server


def tunnels(folder, target):
    """CONNECT to one port of this machine."""
    port = free_port()
    manager = """\
          upgrade_configs: [{upgrade_type: CONNECT}]
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {connect_matcher: {}}
                route: {cluster: target, timeout: 0s, upgrade_configs: [{upgrade_type: CONNECT, connect_config: {}}]}
"""
    path = folder / "envoy-tunnels.yaml"
    path.write_text(listener(port, manager) + cluster("target", target))
    return start(path, port)
