extension Mistake {
  /// Entries of `upstreams`.
  static let ofUpstreams: [Mistake] = [
    Mistake(
      "an upstream without match",
      #"""
      upstreams:
        - name: a
      """#,
      [
        "3:5: error: upstreams[0] needs 'match'"
      ]),
    Mistake(
      "a match with a scheme",
      #"""
      upstreams:
        - match: http://api.example.com
      """#,
      [
        "3:12: error: upstreams[0].match must be [https://]host[:port][/path]; for http:// URLs it has no scheme, and there "
          + "are no others"
      ]),
    Mistake(
      "matches that are none",
      #"""
      upstreams:
        - match: "*"
        - match: u:p@h
        - match: bücher.example
        - match: 127.1
        - match: 0x7f000001
        - match: a b
        - match: "[::1"
      """#,
      [
        "3:12: error: upstreams[0].match must name a host; 'unlisted_hosts' is for all other hosts",
        "4:12: error: upstreams[1].match must not contain a user or password",
        "5:12: error: upstreams[2].match has a non-ASCII host; write it with xn-- labels",
        "6:12: error: upstreams[3].match has a host that is neither a name nor an IPv4 address of four decimal "
          + "numbers",
        "7:12: error: upstreams[4].match has a host that is neither a name nor an IPv4 address of four decimal "
          + "numbers",
        "8:12: error: upstreams[5].match has a host with characters that hosts cannot have",
        "9:12: error: upstreams[6].match has an invalid IPv6 address",
      ]),
    Mistake(
      "path prefixes that no request could have",
      #"""
      upstreams:
        - match: h/a/../b
        - match: h/a//b
        - match: h/%2e%2E/
        - match: h/a%2Fb
        - match: h/a\b
        - match: h/a?b
        - match: h/a;b/c
        - match: h/a%3Bb
        - match: h/%61dmin
        - match: h/a%5fb
      """#,
      [
        "3:12: error: upstreams[0].match has a path with an empty or dot segment, %2f or a backslash",
        "4:12: error: upstreams[1].match has a path with an empty or dot segment, %2f or a backslash",
        "5:12: error: upstreams[2].match has a path with an empty or dot segment, %2f or a backslash",
        "6:12: error: upstreams[3].match has a path with an empty or dot segment, %2f or a backslash",
        "7:12: error: upstreams[4].match has a path with an empty or dot segment, %2f or a backslash",
        "8:12: error: upstreams[5].match has a path with a character that paths cannot have",
        "9:12: error: upstreams[6].match has a path with a parameter (';'), which many servers cut off",
        "10:12: error: upstreams[7].match has a path with a parameter (';'), which many servers cut off",
        "11:12: error: upstreams[8].match has a path with an encoded letter, digit, '-', '_' or '~'; write it unencoded",
        "12:12: error: upstreams[9].match has a path with an encoded letter, digit, '-', '_' or '~'; write it unencoded",
      ]),
    Mistake(
      "two equal matches",
      #"""
      upstreams:
        - {name: a, match: api.example.com/v1}
        - {name: b, match: API.example.com./v1/}
      """#,
      [
        "4:22: error: upstreams[1]: the same match for the same clients is at 3:22"
      ]),
    Mistake(
      "two equal matches of overlapping clients",
      #"""
      clients:
        - {name: x, from: [10.0.0.0/8]}
        - {name: y, from: [11.0.0.0/8]}
      upstreams:
        - {name: a, match: h, clients: [x]}
        - {name: b, match: h, clients: [x, y]}
      """#,
      [
        "7:22: error: upstreams[1]: the same match for the same clients is at 6:22"
      ]),
    Mistake(
      "a name that metrics use already",
      #"""
      upstreams:
        - {name: none, match: h}
        - {name: tunnel, match: i}
      """#,
      [
        "3:12: error: upstreams[0]: metrics use the name 'none' for requests without an entry; give it another 'name'",
        "4:12: error: upstreams[1]: metrics use the name 'tunnel' for requests without an entry; give it another 'name'",
      ]),
    Mistake(
      "two upstreams with one name",
      #"""
      upstreams:
        - {name: a, match: h}
        - {name: a, match: i}
      """#,
      [
        "4:12: error: upstreams[1]: there is already an upstream named 'a' at 3:12; give one of them another 'name'"
      ]),
    Mistake(
      "dangling names of an upstream",
      #"""
      clients:
        - {name: billing, from: [10.0.0.0/8]}
      credentials:
        example-api: {bearer: {token: {env: TOKEN}}}
      trust:
        strict: [{default: {}}]
      upstreams:
        - match: h
          clients: [biling]
          credential: example_api
          trust: stric
      """#,
      [
        "10:15: error: upstreams[0].clients[0]: there is no 'biling' in 'clients' (did you mean 'billing'?)",
        "11:17: error: upstreams[0].credential: there is no 'example_api' in 'credentials' (did you mean "
          + "'example-api'?)",
        "12:12: error: upstreams[0].trust: there is no 'stric' in 'trust' (did you mean 'strict'?)",
      ]),
    Mistake(
      "an entry for nobody",
      #"""
      upstreams:
        - {match: h, clients: []}
      """#,
      [
        "3:25: error: upstreams[0].clients is empty: no client could use this entry"
      ]),
    Mistake(
      "origins that are none",
      #"""
      upstreams:
        - {match: a, origin: api.example.com}
        - {match: b, origin: "https://user:s3cr3t@api.example.com"}
        - {match: c, origin: https://api.example.com/v1?q}
        - {match: d, origin: "https://h:0"}
        - {match: e, origin: ftp://h}
      """#,
      [
        "3:24: error: upstreams[0].origin must start with https:// or http://",
        "4:24: error: upstreams[1].origin must not contain a user or password",
        "5:24: error: upstreams[2].origin must not have a query; the proxy keeps the app's",
        "6:24: error: upstreams[3].origin has port 0",
        "7:24: error: upstreams[4].origin must start with https:// or http://",
      ]),
    Mistake(
      "a credential in the clear",
      #"""
      credentials:
        a: {bearer: {token: {env: TOKEN}}}
      upstreams:
        - match: h
          origin: http://h
          credential: a
      """#,
      [
        "6:13: error: upstreams[0]: credential 'a' would go over http:// in the clear; say 'allow_plaintext: "
          + "true' in it to allow this"
      ]),
    Mistake(
      "a wildcard credential",
      #"""
      credentials:
        a: {bearer: {token: {env: TOKEN}}}
      upstreams:
        - match: "*.example.com"
          credential: a
      """#,
      [
        "6:5: error: upstreams[0]: any host below '*.example.com' would get the credential; set 'origin', "
          + "or say 'wildcard_credential: true'"
      ]),
    Mistake(
      "trust and mutual TLS without TLS",
      #"""
      trust:
        strict: [{default: {}}]
      upstreams:
        - match: h
          origin: http://h
          trust: strict
          client_certificate: {certificate: cert.pem, key: {file: key.pem}}
      """#,
      [
        "7:5: error: upstreams[0].trust has no effect: the origin is http://",
        "8:5: error: upstreams[0].client_certificate has no effect: the origin is http://",
      ]),
    Mistake(
      "a credential under a disabled policy",
      #"""
      trust:
        lab: [{disabled: {}}]
      credentials:
        a: {bearer: {token: {env: TOKEN}}}
      upstreams:
        - {match: h, credential: a, trust: lab}
      """#,
      [
        "7:38: error: upstreams[0]: trust 'lab' is disabled; say 'allow_untrusted: true' in credential 'a' to "
          + "allow this"
      ]),
    Mistake(
      "a credential under a policy that does not validate the host",
      #"""
      trust:
        default: [{default: {validate_host: false}}]
      credentials:
        a: {bearer: {token: {env: TOKEN}}}
      upstreams:
        - {match: h, credential: a}
      """#,
      [
        "7:28: error: upstreams[0]: trust 'default' does not validate the host; say 'allow_untrusted: true' in "
          + "credential 'a' to allow this"
      ]),
    Mistake(
      "a credential under a policy that does not validate the chain",
      #"""
      trust:
        pinned: [{pinned_certificates: {certificates: [cert.pem, next.pem], validate_chain: false}}]
      credentials:
        a: {bearer: {token: {env: TOKEN}}}
      upstreams:
        - {match: h, credential: a, trust: pinned}
      """#,
      [
        "7:38: error: upstreams[0]: trust 'pinned' does not validate the chain; say 'allow_untrusted: true' in "
          + "credential 'a' to allow this"
      ]),
    Mistake(
      "hosts that nobody evaluates",
      #"""
      all_hosts_must_be_evaluated: true
      upstreams:
        - {match: h}
        - {match: i, origin: http://i}
      """#,
      [
        "4:5: error: upstreams[0] names no 'trust', but all_hosts_must_be_evaluated is true"
      ]),
    Mistake(
      "a retry that would do things twice",
      #"""
      upstreams:
        - match: h
          retry: {attempts: 2, methods: [GET, POST, get], statuses: [200, 503, x]}
      """#,
      [
        "4:41: error: upstreams[0].retry.methods[1]: 'POST' is not among the idempotent methods GET, HEAD, "
          + "OPTIONS, TRACE, PUT, DELETE; repeating another one could do twice what the app asked for once",
        "4:47: error: upstreams[0].retry.methods[2]: 'get' is not among the idempotent methods GET, HEAD, "
          + "OPTIONS, TRACE, PUT, DELETE (did you mean 'GET'?); repeating another one could do twice what the app asked for once",
        "4:64: error: upstreams[0].retry.statuses[0] must be a status from 400 to 599, not '200'",
        "4:74: error: upstreams[0].retry.statuses[2] must be a status from 400 to 599, not 'x'",
      ]),
    Mistake(
      "a retry of nothing",
      #"""
      upstreams:
        - match: h
          retry: {attempts: 2, methods: []}
      """#,
      [
        "4:35: error: upstreams[0].retry.methods is empty; to switch retries off, say 'attempts: 0'"
      ]),
    Mistake(
      "timeouts that concern no upstream",
      #"""
      upstreams:
        - match: h
          timeouts: {idle: 5s, conect: 5s, drain: 1s}
      """#,
      [
        "4:16: error: upstreams[0].timeouts.idle does not apply to a single upstream; it belongs to the global 'timeouts'",
        "4:26: error: unknown key 'conect' in upstreams[0].timeouts (did you mean 'connect'?)",
        "4:38: error: upstreams[0].timeouts.drain does not apply to a single upstream; it belongs to the global 'timeouts'",
      ]),
    Mistake(
      "choices of an upstream",
      #"""
      upstreams:
        - {match: h, client_authorization: replaced, host_header: orgin, decompress: 1}
      """#,
      [
        "3:38: error: upstreams[0].client_authorization must be replace, keep or reject, not 'replaced' (did you "
          + "mean 'replace'?)",
        "3:61: error: upstreams[0].host_header must be origin or app, not 'orgin' (did you mean 'origin'?)",
        "3:80: error: upstreams[0].decompress must be true or false, not '1'",
      ]),
    Mistake(
      "a client certificate without its key",
      #"""
      upstreams:
        - match: h
          client_certificate: {certificate: cert.pem}
      """#,
      [
        "4:5: error: upstreams[0].client_certificate needs 'key'"
      ]),
    Mistake(
      "a client certificate that is none",
      #"""
      upstreams:
        - match: h
          client_certificate: {certificate: token, key: {file: token}}
      """#,
      [
        "4:39: error: upstreams[0].client_certificate.certificate: /etc/authproxy/token contains no certificate in "
          + "PEM or DER form",
        "4:51: error: upstreams[0].client_certificate.key contains no private key in PEM form",
      ]),
    Mistake(
      "an encrypted key without a passphrase",
      #"""
      upstreams:
        - match: h
          client_certificate: {certificate: cert.pem, key: {file: encrypted.pem}}
      """#,
      [
        "4:54: error: upstreams[0].client_certificate.key is encrypted and needs 'passphrase'"
      ]),
  ]
}
