extension Mistake {
  /// Cases in which no listener precedes the text.
  static let ofTheWholeFile: [Mistake] = [
    Mistake(
      "an empty file",
      "",
      [
        "1:1: error: the file is empty; a configuration needs at least 'listen' and 'upstreams'"
      ]),
    Mistake(
      "a comment alone",
      #"""
      # nothing
      """#,
      [
        "1:1: error: the file is empty; a configuration needs at least 'listen' and 'upstreams'"
      ]),
    Mistake(
      "a list at the top",
      #"""
      - listen
      """#,
      [
        "1:1: error: the configuration must be a mapping, not a list"
      ]),
    Mistake(
      "no listener",
      #"""
      unlisted_hosts: forward
      """#,
      [
        "1:1: error: the configuration needs 'listen'"
      ]),
    Mistake(
      "an empty list of listeners",
      #"""
      listen: []
      """#,
      [
        "1:9: error: listen is empty: the proxy needs at least one address"
      ]),
    Mistake(
      "two equal listeners",
      #"""
      listen:
        - 127.0.0.1:3128
        - address: 127.0.0.1:3128
      """#,
      [
        "3:14: error: 127.0.0.1:3128 is already in use, at 2:5"
      ]),
    Mistake(
      "a listener beyond loopback without clients",
      #"""
      listen: 0.0.0.0:3128
      """#,
      [
        "1:9: error: 0.0.0.0:3128 is reachable from other machines and needs 'clients', or 'clients: optional' "
          + "if everybody may use the proxy"
      ]),
    Mistake(
      "an inherited listener without clients",
      #"""
      listen: fd:3
      """#,
      [
        "1:9: error: fd:3 may be reachable from other machines and needs 'clients', or 'clients: optional' if "
          + "everybody may use the proxy"
      ]),
    Mistake(
      "clients required but none there",
      #"""
      listen: {address: 127.0.0.1:3128, clients: required}
      """#,
      [
        "1:44: error: listen.clients is required, but there are no 'clients'"
      ]),
    Mistake(
      "an unknown word for clients",
      #"""
      listen: {address: 127.0.0.1:3128, clients: need}
      """#,
      [
        "1:44: error: listen.clients must be required or optional, not 'need'"
      ]),
    Mistake(
      "a listener without an address",
      #"""
      listen: {clients: optional}
      """#,
      [
        "1:9: error: listen needs 'address'"
      ]),
    Mistake(
      "a tab in the indentation",
      #"""
      listen: 127.0.0.1:3128
      log:
      	level: info
      """#,
      [
        "3:1: error: a tab in the indentation; YAML needs spaces"
      ]),
    Mistake(
      "a star without quotes",
      #"""
      listen: 127.0.0.1:3128
      upstreams:
        - match: *.example.com
      """#,
      [
        "3:13: error: a value that begins with '*' needs quotes: \"*.example.com\""
      ]),
    Mistake(
      "an unclosed bracket",
      #"""
      listen: [127.0.0.1:3128
      log: {}
      """#,
      [
        "2:4: error: not YAML: did not find expected ',' or ']' (while parsing a flow sequence)"
      ]),
    Mistake(
      "an alias without an anchor",
      #"""
      listen: *here
      """#,
      [
        "1:9: error: there is no anchor '&here' above"
      ]),
    Mistake(
      "an anchor within itself",
      #"""
      listen: &a [*a]
      """#,
      [
        "1:13: error: there is no anchor '&a' above"
      ]),
    Mistake(
      "two documents",
      #"""
      listen: 127.0.0.1:3128
      ---
      name: x
      """#,
      [
        "2:1: error: a second YAML document; a configuration is one document"
      ]),
    Mistake(
      "a merge of a text",
      #"""
      listen: 127.0.0.1:3128
      log: {<<: x}
      """#,
      [
        "2:11: error: '<<' merges mappings, not a text"
      ]),
    Mistake(
      "a listener beyond loopback whose clients are misspelt",
      #"""
      listen: 0.0.0.0:3128
      client:
        - {name: a, from: [10.0.0.0/8]}
      """#,
      [
        "2:1: error: unknown key 'client' (did you mean 'clients'?)"
      ]),
  ]

  /// The file and the process as a whole.
  static let ofTheProcess: [Mistake] = [
    Mistake(
      "an unknown key at the top is named with its neighbour",
      #"""
      upstream: []
      """#,
      [
        "2:1: error: unknown key 'upstream' (did you mean 'upstreams'?)"
      ]),
    Mistake(
      "an unknown key deep inside names its section",
      #"""
      credentials:
        billing:
          basic: {username: a, pasword: {env: TOKEN}, password: {env: TOKEN}}
      """#,
      [
        "4:26: error: unknown key 'pasword' in credentials.billing.basic (did you mean 'password'?)"
      ]),
    Mistake(
      "a duplicate key is an error with both places",
      #"""
      threads: 1
      threads: 2
      """#,
      [
        "3:1: error: duplicate key 'threads', first at 2:1"
      ]),
    Mistake(
      "a duplicate credential is an error",
      #"""
      credentials:
        a: {bearer: {token: {env: TOKEN}}}
        a: {bearer: {token: {env: TOKEN}}}
      """#,
      [
        "4:3: error: duplicate key 'a', first at 3:3"
      ]),
    Mistake(
      "a key that is no text",
      #"""
      ? [a, b]
      : 1
      """#,
      [
        "2:3: error: a key must be a text, not a list"
      ]),
    Mistake(
      "a key without a value",
      #"""
      upstreams:
      log:
        level:
      """#,
      [
        "2:1: error: upstreams has no value",
        "4:3: error: log.level has no value",
      ]),
    Mistake(
      "a list where a text is wanted",
      #"""
      name: [a]
      """#,
      [
        "2:7: error: name must be a text, not a list"
      ]),
    Mistake(
      "a text where a list is wanted",
      #"""
      upstreams: none
      """#,
      [
        "2:12: error: upstreams must be a list, not a text"
      ]),
    Mistake(
      "a text where a mapping is wanted, not shown as it may be a secret",
      #"""
      credentials:
        api:
          bearer: s3cr3t
      """#,
      [
        "4:13: error: credentials.api.bearer must be a mapping, not a text"
      ]),
    Mistake(
      "an unknown tag",
      #"""
      name: !secret x
      """#,
      [
        "2:7: error: unknown tag '!secret'; all values are plain text"
      ]),
    Mistake(
      "a name that is no pseudonym",
      #"""
      name: my proxy
      """#,
      [
        "2:7: error: name must be at most 64 letters, digits and -._ and must start with a letter"
      ]),
    Mistake(
      "threads",
      #"""
      threads: many
      """#,
      [
        "2:10: error: threads must be auto or a number from 1 to 256, not 'many'"
      ]),
    Mistake(
      "watch_files",
      #"""
      watch_files: 10
      """#,
      [
        "2:14: error: watch_files: '10' needs a unit: 250ms, 30s, 5m or 1h; or off"
      ]),
    Mistake(
      "watch_files too often",
      #"""
      watch_files: 1ms
      """#,
      [
        "2:14: error: watch_files must be off or at least 100ms, not '1ms'"
      ]),
    Mistake(
      "log",
      #"""
      log: {level: inof, format: xml, access: yes}
      """#,
      [
        "2:14: error: log.level must be trace, debug, info, notice, warning, error or critical, not 'inof' (did "
          + "you mean 'info'?)",
        "2:28: error: log.format must be json or text, not 'xml'",
        "2:41: error: log.access must be true or false, not 'yes'",
      ]),
    Mistake(
      "limits",
      #"""
      limits: {connections: 0, request_head: 32, response_head: 64kb, replay_body: 1TB, upstream_connections: -1}
      """#,
      [
        "2:23: error: limits.connections must be from 1 to 10000000, not '0'",
        "2:40: error: limits.request_head: '32' needs a unit: 512B, 64KiB, 10MiB or 1MB",
        "2:59: error: limits.response_head: '64kb' has an unknown unit; there are 512B, 64KiB, 10MiB, 1GiB, 1kB, "
          + "1MB and 1GB",
        "2:78: error: limits.replay_body: '1TB' has an unknown unit; there are 512B, 64KiB, 10MiB, 1GiB, 1kB, "
          + "1MB and 1GB",
        "2:105: error: limits.upstream_connections: '-1' must be a whole number",
      ]),
    Mistake(
      "limits of streams",
      #"""
      limits: {upstream_streams: 0, client_streams: 1001, upstream_stream: 1}
      """#,
      [
        "2:28: error: limits.upstream_streams must be from 1 to 1000, not '0'",
        "2:47: error: limits.client_streams must be from 1 to 1000, not '1001'",
        "2:53: error: unknown key 'upstream_stream' in limits (did you mean 'upstream_streams'?)",
      ]),
    Mistake(
      "a size out of bounds",
      #"""
      limits: {request_head: 1B}
      """#,
      [
        "2:24: error: limits.request_head must be from 1KiB to 1MiB, not '1B'"
      ]),
    Mistake(
      "timeouts",
      #"""
      timeouts: {idle: 75, connect: 10sec, stall: 0s, drain: 0s, tunnel: 1.5h, resolve: 99999999999999999999h, credential: 9999999h}
      """#,
      [
        "2:18: error: timeouts.idle: '75' needs a unit: 250ms, 30s, 5m or 1h",
        "2:31: error: timeouts.connect: '10sec' has an unknown unit; there are 250ms, 30s, 5m and 1h",
        "2:45: error: timeouts.stall must be at least 1ms, not '0s'",
        "2:68: error: timeouts.tunnel: '1.5h' has an unknown unit; there are 250ms, 30s, 5m and 1h",
        "2:83: error: timeouts.resolve: '99999999999999999999h' is too large",
        "2:118: error: timeouts.credential: '9999999h' is longer than a year",
      ]),
  ]

  /// One mistake is one error, whatever depends on it.
  static let ofMisspellings: [Mistake] = [
    Mistake(
      "a misspelt key that is needed is one mistake",
      #"""
      credentials:
        a: {basic: {username: u, pasword: {env: TOKEN}}}
        b: {baerer: {token: {env: TOKEN}}}
        c: {oauth2: {grant: client_credentials, token_ulr: https://l/t, client_id: c, client_secrte: {env: TOKEN}}}
      """#,
      [
        "3:28: error: unknown key 'pasword' in credentials.a.basic (did you mean 'password'?)",
        "4:7: error: unknown key 'baerer' in credentials.b (did you mean 'bearer'?)",
        "5:43: error: unknown key 'token_ulr' in credentials.c.oauth2 (did you mean 'token_url'?)",
        "5:81: error: unknown key 'client_secrte' in credentials.c.oauth2 (did you mean 'client_secret'?)",
      ]),
    Mistake(
      "a misspelt section leaves no dangling names",
      #"""
      credential:
        a: {bearer: {token: {env: TOKEN}}}
      trsut:
        b: [{default: {}}]
      client:
        - {name: c, from: [10.0.0.0/8]}
      upstreams:
        - {match: h, credential: a, trust: b, clients: [c]}
      """#,
      [
        "2:1: error: unknown key 'credential' (did you mean 'credentials'?)",
        "4:1: error: unknown key 'trsut' (did you mean 'trust'?)",
        "6:1: error: unknown key 'client' (did you mean 'clients'?)",
      ]),
    Mistake(
      "what is wrong in an entry does not make its name dangling",
      #"""
      upstreams:
        - {name: pay, match: h, origin: ftp://h}
      credentials:
        a: {bearer: {token: {env: NONE}}}
      clients:
        - {name: c, from: [10.0.0.0/8], allow: [pay]}
      """#,
      [
        "3:35: error: upstreams[0].origin must start with https:// or http://",
        "5:29: error: credentials.a.bearer.token: environment variable 'NONE' is not set",
      ]),
    Mistake(
      "a merged key keeps its place",
      #"""
      upstreams:
        - &a {match: h, retry: {attempt: 1}}
        - {<<: *a, match: i}
      """#,
      [
        "3:27: error: unknown key 'attempt' in upstreams[0].retry (did you mean 'attempts'?)",
        "3:27: error: unknown key 'attempt' in upstreams[1].retry (did you mean 'attempts'?)",
      ]),
    Mistake(
      "a name's control characters are not printed",
      #"""
      "a\e[31mb": 1
      """#,
      [
        "2:1: error: unknown key 'a�[31mb'"
      ]),
    Mistake(
      "a client's password over two lines",
      #"""
      clients:
        - {name: a, password: {file: lines}}
      """#,
      [
        "3:25: error: clients[0].password contains a control character, possibly a line break"
      ]),
    Mistake(
      "a passphrase that is missing as a file",
      #"""
      upstreams:
        - match: h
          client_certificate: {certificate: cert.pem, key: {file: encrypted.pem}, passphrase: {file: none}}
      """#,
      [
        "4:89: error: upstreams[0].client_certificate.passphrase: /etc/authproxy/none: No such file or directory"
      ]),
  ]
}
