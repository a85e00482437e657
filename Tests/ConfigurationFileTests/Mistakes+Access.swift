extension Mistake {
  /// Listeners, clients, tunnels and addresses.
  static let ofAccess: [Mistake] = [
    Mistake(
      "an address without a port",
      #"""
      admin: 127.0.0.1
      """#,
      [
        "2:8: error: admin: '127.0.0.1' needs a port, as in 127.0.0.1:3128; unix:/path and fd:3 are possible, too"
      ]),
    Mistake(
      "a name instead of an address",
      #"""
      admin: localhost:9128
      """#,
      [
        "2:8: error: admin: 'localhost:9128' must start with an IP address: 127.0.0.1:9128"
      ]),
    Mistake(
      "no address before the port",
      #"""
      admin: :9128
      """#,
      [
        "2:8: error: admin: ':9128' must start with an IP address; 0.0.0.0 is every IPv4 address, [::] every address"
      ]),
    Mistake(
      "an IPv6 address without brackets",
      #"""
      admin: ::1:9128
      """#,
      [
        "2:8: error: admin: '::1:9128' has more than one ':'; an IPv6 address goes in brackets: [::1]:3128"
      ]),
    Mistake(
      "a port beyond 65535",
      #"""
      admin: 127.0.0.1:99999
      """#,
      [
        "2:8: error: admin: '127.0.0.1:99999' has a port that is not a number from 0 to 65535"
      ]),
    Mistake(
      "a standard stream is no listener",
      #"""
      admin: fd:1
      """#,
      [
        "2:8: error: admin: 'fd:1' must name a descriptor of 3 or more"
      ]),
    Mistake(
      "a unix socket without a path",
      #"""
      admin: "unix:"
      """#,
      [
        "2:8: error: admin: 'unix:' has no path, or one of more than 107 bytes"
      ]),
    Mistake(
      "permissions for a TCP listener",
      #"""
      admin: {address: 127.0.0.1:9128, mode: "0660", owner: root}
      """#,
      [
        "2:34: error: admin.mode is for unix sockets only",
        "2:48: error: admin.owner is for unix sockets only",
      ]),
    Mistake(
      "permissions that are none",
      #"""
      admin: {address: unix:/run/a.sock, mode: "0888"}
      """#,
      [
        "2:42: error: admin.mode must be permissions such as \"0660\", not '0888'"
      ]),
    Mistake(
      "an unknown admin page",
      #"""
      admin: {address: 127.0.0.1:9128, expose: [healthz, metric]}
      """#,
      [
        "2:52: error: admin.expose[1] must be healthz, readyz, metrics, status, dashboard or purge, not 'metric' (did you mean "
          + "'metrics'?)"
      ]),
    Mistake(
      "a name of the admin listener that browsers cannot send",
      #"""
      admin: {address: 127.0.0.1:9128, hosts: ["*.internal", "ops.internal:0x1"]}
      """#,
      [
        "2:42: error: admin.hosts[0]: '*.internal' has a host with characters that hosts cannot have",
        "2:56: error: admin.hosts[1]: 'ops.internal:0x1' has a port that is not a number from 0 to 65535",
      ]),
    Mistake(
      "the admin address equal to a listener",
      #"""
      admin: 127.0.0.1:3128
      """#,
      [
        "2:8: error: 127.0.0.1:3128 is already in use, at 1:9"
      ]),
    Mistake(
      "a client without a way to be known",
      #"""
      clients:
        - name: a
      """#,
      [
        "3:5: error: clients[0] needs 'password', 'certificate' or 'from'"
      ]),
    Mistake(
      "two clients with one name",
      #"""
      clients:
        - {name: a, from: [10.0.0.0/8]}
        - {name: a, from: [11.0.0.0/8]}
      """#,
      [
        "4:12: error: clients[1]: there is already a client named 'a' at 3:12"
      ]),
    Mistake(
      "a client name with a colon",
      #"""
      clients:
        - {name: "a:b", from: [10.0.0.0/8]}
      """#,
      [
        "3:12: error: clients[0].name must not contain ':', which ends the user name in Basic authentication"
      ]),
    Mistake(
      "no clients in the list",
      #"""
      clients: []
      """#,
      [
        "2:10: error: clients is empty; leave it out if everybody may use the proxy"
      ]),
    Mistake(
      "address blocks",
      #"""
      clients:
        - {name: a, from: [10.0.0.1/8, 10.0.0.0/33, host, "fd00::/8"]}
        - {name: b, from: ["fd00::/8"]}
      """#,
      [
        "3:22: error: clients[0].from[0]: '10.0.0.1/8' has bits set beyond its prefix; the block is 10.0.0.0/8",
        "3:34: error: clients[0].from[1]: '10.0.0.0/33' has a prefix length that is not a number from 0 to 32",
        "3:47: error: clients[0].from[2]: 'host' must be an address or a block such as 10.2.0.0/16 or fd00::/8",
        "4:22: error: clients[1].from[0]: the same block is at 3:53; a block can identify only one client",
      ]),
    Mistake(
      "an empty from",
      #"""
      clients:
        - {name: a, from: []}
      """#,
      [
        "3:21: error: clients[0].from is empty"
      ]),
    Mistake(
      "allow with a mistyped upstream",
      #"""
      upstreams:
        - {name: payments, match: api.example.com}
      clients:
        - {name: a, from: [10.0.0.0/8], allow: [paymnets]}
      """#,
      [
        "5:43: error: clients[0].allow[0]: there is no upstream named 'paymnets' (did you mean 'payments'?)"
      ]),
    Mistake(
      "anonymous with a dangling upstream",
      #"""
      anonymous: {allow: [payments]}
      """#,
      [
        "2:21: error: anonymous.allow[0]: there is no upstream named 'payments'"
      ]),
    Mistake(
      "max_requests",
      #"""
      clients:
        - {name: a, from: [10.0.0.0/8], max_requests: 0}
        - {name: b, from: [11.0.0.0/8], max_requests: 5MB}
        - {name: c, from: [12.0.0.0/8], max_request: 5}
      anonymous: {max_requests: -1}
      """#,
      [
        "3:49: error: clients[0].max_requests must be from 1 to 1000000, not '0'",
        "4:49: error: clients[1].max_requests: '5MB' must be a whole number without a unit",
        "5:35: error: unknown key 'max_request' in clients[2] (did you mean 'max_requests'?)",
        "6:27: error: anonymous.max_requests: '-1' must be a whole number",
      ]),
    Mistake(
      "anonymous that says nothing",
      #"""
      anonymous: {alow: []}
      """#,
      [
        "2:13: error: unknown key 'alow' in anonymous (did you mean 'allow'?)"
      ]),
    Mistake(
      "unlisted_hosts",
      #"""
      unlisted_hosts: forwrad
      """#,
      [
        "2:17: error: unlisted_hosts must be deny or forward, not 'forwrad' (did you mean 'forward'?)"
      ]),
    Mistake(
      "connect patterns",
      #"""
      connect: {allow: ["a.*.com:443", "*example.com", "a..b", "h:0", "*.10.0.0.1"]}
      """#,
      [
        "2:19: error: connect.allow[0]: 'a.*.com:443' may have one '*', as its whole first label",
        "2:34: error: connect.allow[1]: '*example.com' may have one '*', as its whole first label",
        "2:50: error: connect.allow[2]: 'a..b' has a host with an empty or too long label",
        "2:58: error: connect.allow[3]: 'h:0' has port 0",
        "2:65: error: connect.allow[4]: '*.10.0.0.1' has a '*' before an address",
      ]),
    Mistake(
      "forbidden addresses",
      #"""
      forbidden_addresses: [defualt, 10.0.0.0/8/8]
      """#,
      [
        "2:23: error: forbidden_addresses[0]: 'defualt' is not an address block (did you mean 'default'?)",
        "2:32: error: forbidden_addresses[1]: '10.0.0.0/8/8' has a prefix length that is not a number from 0 to 32",
      ]),
  ]
}
