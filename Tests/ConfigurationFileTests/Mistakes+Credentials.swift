extension Mistake {
  /// Secrets and the simple credentials.
  static let ofCredentials: [Mistake] = [
    Mistake(
      "a missing file",
      #"""
      credentials:
        a: {bearer: {token: {file: none}}}
      """#,
      [
        "3:23: error: credentials.a.bearer.token: /etc/authproxy/none: No such file or directory"
      ]),
    Mistake(
      "an empty file",
      #"""
      credentials:
        a: {bearer: {token: {file: empty}}}
      """#,
      [
        "3:23: error: credentials.a.bearer.token: /etc/authproxy/empty is empty"
      ]),
    Mistake(
      "unset and empty variables",
      #"""
      credentials:
        a: {bearer: {token: {env: NONE}}}
        b: {bearer: {token: {env: EMPTY}}}
      """#,
      [
        "3:29: error: credentials.a.bearer.token: environment variable 'NONE' is not set",
        "4:29: error: credentials.b.bearer.token: environment variable 'EMPTY' is empty",
      ]),
    Mistake(
      "a secret of two sources",
      #"""
      credentials:
        a: {bearer: {token: {env: TOKEN, file: token}}}
      """#,
      [
        "3:16: error: credentials.a.bearer.token must be a secret with one of 'file', 'env' and 'command'"
      ]),
    Mistake(
      "a secret of no source",
      #"""
      credentials:
        a: {bearer: {token: {fil: token}}}
      """#,
      [
        "3:24: error: unknown key 'fil' in credentials.a.bearer.token (did you mean 'file'?)"
      ]),
    Mistake(
      "a secret that is a list",
      #"""
      credentials:
        a: {bearer: {token: [a]}}
      """#,
      [
        "3:23: error: credentials.a.bearer.token must be a secret: {file: ...}, {env: ...}, {command: [...]} or "
          + "a text, not a list"
      ]),
    Mistake(
      "an empty secret",
      #"""
      credentials:
        a: {bearer: {token: ""}}
      """#,
      [
        "3:23: error: credentials.a.bearer.token is empty"
      ]),
    Mistake(
      "command options beside a file",
      #"""
      credentials:
        a: {bearer: {token: {file: token, timeout: 5s, refresh: 1h}}}
      """#,
      [
        "3:37: error: credentials.a.bearer.token.timeout applies to 'command' only",
        "3:50: error: credentials.a.bearer.token.refresh applies to 'command' only",
      ]),
    Mistake(
      "a command that is no path",
      #"""
      credentials:
        a: {bearer: {token: {command: [pass, show, x]}}}
      """#,
      [
        "3:34: error: credentials.a.bearer.token.command: the program must be a path; the proxy does not search PATH"
      ]),
    Mistake(
      "an empty command",
      #"""
      credentials:
        a: {bearer: {token: {command: []}}}
      """#,
      [
        "3:33: error: credentials.a.bearer.token.command is empty"
      ]),
    Mistake(
      "a command that fails",
      #"""
      credentials:
        a: {bearer: {token: {command: [/bin/fails]}}}
      """#,
      [
        "3:23: error: credentials.a.bearer.token: /bin/fails: exited with status 1"
      ]),
    Mistake(
      "a credential of two kinds",
      #"""
      credentials:
        a: {bearer: {token: {env: TOKEN}}, basic: {username: u, password: {env: TOKEN}}}
      """#,
      [
        "3:3: error: credentials.a \(Mistake.oneKind)"
      ]),
    Mistake(
      "a credential of no kind",
      #"""
      credentials:
        a: {allow_plaintext: true}
      """#,
      [
        "3:3: error: credentials.a \(Mistake.oneKind)"
      ]),
    Mistake(
      "a Basic user name with a colon",
      #"""
      credentials:
        a: {basic: {username: "a:b", password: {env: TOKEN}}}
      """#,
      [
        "3:25: error: credentials.a.basic.username must not contain a ':' or a control character"
      ]),
    Mistake(
      "a Basic password over two lines",
      #"""
      credentials:
        a: {basic: {username: a, password: {file: lines}}}
      """#,
      [
        "3:38: error: credentials.a.basic.password contains a control character, possibly a line break"
      ]),
    Mistake(
      "a bearer token with a space",
      #"""
      credentials:
        a: {bearer: {token: {file: words}}}
      """#,
      [
        "3:23: error: credentials.a.bearer.token contains a character that is not visible ASCII, as access "
          + "tokens require (RFC 6749 appendix A.12)"
      ]),
    Mistake(
      "a credential without its parts",
      #"""
      credentials:
        a: {basic: {}}
        b: {bearer: {}}
        c: {header: {}}
      """#,
      [
        "3:7: error: credentials.a.basic needs 'password'",
        "3:7: error: credentials.a.basic needs 'username'",
        "4:7: error: credentials.b.bearer needs 'token'",
        "5:7: error: credentials.c.header needs 'name'",
        "5:7: error: credentials.c.header needs 'value'",
      ]),
    Mistake(
      "a field that cannot carry a credential",
      #"""
      credentials:
        a: {header: {name: Host, value: {env: TOKEN}}}
        b: {header: {name: "X Key", value: {env: TOKEN}}}
      """#,
      [
        "3:22: error: credentials.a.header.name: 'Host' belongs to the connection and cannot carry a credential",
        "4:22: error: credentials.b.header.name must be an HTTP field name, not 'X Key'",
      ]),
    Mistake(
      "a field value over two lines",
      #"""
      credentials:
        a: {header: {name: X-Key, value: {file: lines}}}
      """#,
      [
        "3:36: error: credentials.a.header.value contains a character that field values cannot have, possibly a line break"
      ]),
    Mistake(
      "a format without its value",
      #"""
      credentials:
        a: {header: {name: X-Key, value: {env: TOKEN}, format: s3cr3t}}
        b: {header: {name: X-Key, value: {env: TOKEN}, format: "{value}{value}"}}
        c: {header: {name: X-Key, value: {env: TOKEN}, format: " {value}"}}
      """#,
      [
        "3:58: error: credentials.a.header.format must contain {value} exactly once",
        "4:58: error: credentials.b.header.format must contain {value} exactly once",
        "5:58: error: credentials.c.header.format contains a character that field values cannot have, or begins or ends with a space",
      ]),
  ]

  /// OAuth 2.0 and the token store.
  static let ofOAuth2: [Mistake] = [
    Mistake(
      "an oauth2 credential without anything",
      #"""
      credentials:
        a: {oauth2: {}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'grant'",
        "3:7: error: credentials.a.oauth2 needs 'token_url' or 'issuer'",
      ]),
    Mistake(
      "an unknown grant",
      #"""
      credentials:
        a: {oauth2: {grant: client_credential, token_url: https://l/t}}
      """#,
      [
        "3:23: error: credentials.a.oauth2.grant must be client_credentials, refresh_token, password, "
          + "jwt_bearer, authorization_code, device_code or token_exchange, not 'client_credential' (did you mean 'client_credentials'?)"
      ]),
    Mistake(
      "token_url beside issuer",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, issuer: https://l, client_id: c, client_secret: {env: TOKEN}}}
      """#,
      [
        "3:67: error: credentials.a.oauth2 has both 'token_url' and 'issuer'; give only one of them"
      ]),
    Mistake(
      "a token endpoint in the clear",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: http://login.example.com/t, client_id: c, client_secret: {env: TOKEN}}}
      """#,
      [
        "3:54: error: credentials.a.oauth2.token_url must be https unless it is on loopback: the proxy sends secrets there"
      ]),
    Mistake(
      "an issuer with a query",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, issuer: "https://l?x", client_id: c, client_secret: {env: TOKEN}}}
      """#,
      [
        "3:51: error: credentials.a.oauth2.issuer must not have a query"
      ]),
    Mistake(
      "a client that proves nothing",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'client_secret', 'private_key' or 'client_assertion' for grant "
          + "client_credentials"
      ]),
    Mistake(
      "a client without a name",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_secret: {env: TOKEN}}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'client_id'"
      ]),
    Mistake(
      "keys of another grant",
      #"""
      credentials:
        a:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_secret: {env: TOKEN}
            username: u
            password: {env: TOKEN}
            refresh_token: {env: TOKEN}
            assertion: {env: TOKEN}
      """#,
      [
        "9:7: error: credentials.a.oauth2.username cannot be used with grant client_credentials",
        "10:7: error: credentials.a.oauth2.password cannot be used with grant client_credentials",
        "11:7: error: credentials.a.oauth2.refresh_token cannot be used with grant client_credentials",
        "12:7: error: credentials.a.oauth2.assertion cannot be used with grant client_credentials",
      ]),
    Mistake(
      "keys of another client authentication",
      #"""
      credentials:
        a:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_auth: private_key_jwt
            private_key: {file: key.pem}
            client_secret: {env: TOKEN}
            client_assertion: {env: TOKEN}
      """#,
      [
        "10:7: error: credentials.a.oauth2.client_secret cannot be used with client_auth private_key_jwt",
        "11:7: error: credentials.a.oauth2.client_assertion cannot be used with client_auth private_key_jwt",
      ]),
    Mistake(
      "client authentication without its secret",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: basic}}
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: private_key_jwt}}
        c: {oauth2: {grant: client_credentials, token_url: https://l/t, client_auth: client_assertion}}
        d: {oauth2: {grant: client_credentials, token_url: https://l/t, client_auth: bsic}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'client_secret' for client_auth basic",
        "4:7: error: credentials.b.oauth2 needs 'private_key' for client_auth private_key_jwt",
        "5:7: error: credentials.c.oauth2 needs 'client_assertion' for client_auth client_assertion",
        "6:80: error: credentials.d.oauth2.client_auth must be basic, post, none, private_key_jwt, "
          + "client_assertion, client_secret_jwt, tls_client_auth or self_signed_tls_client_auth, not 'bsic' (did you mean 'basic'?)",
      ]),
    Mistake(
      "grants without their parts",
      #"""
      credentials:
        a: {oauth2: {grant: password, token_url: https://l/t, client_id: c}}
        b: {oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c}}
        c: {oauth2: {grant: jwt_bearer, token_url: https://l/t}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'password' for grant password",
        "3:7: error: credentials.a.oauth2 needs 'username' for grant password",
        "4:7: error: credentials.b.oauth2 needs 'refresh_token' for grant refresh_token",
        "5:7: error: credentials.c.oauth2 needs 'assertion' for grant jwt_bearer",
      ]),
    Mistake(
      "an assertion without claims or key",
      #"""
      credentials:
        a: {oauth2: {grant: jwt_bearer, token_url: https://l/t, assertion: {issuer: i}}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'private_key' to sign the assertion",
        "3:59: error: credentials.a.oauth2.assertion needs 'audience'",
        "3:59: error: credentials.a.oauth2.assertion needs 'subject'",
      ]),
    Mistake(
      "parts of a key that is missing",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, key_id: k, passphrase: {env: TOKEN}}}
      """#,
      [
        "3:110: error: credentials.a.oauth2.key_id belongs to 'private_key', which is missing",
        "3:121: error: credentials.a.oauth2.passphrase belongs to 'private_key', which is missing",
      ]),
    Mistake(
      "a private key that is none",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, private_key: {file: token}}}
      """#,
      [
        "3:94: error: credentials.a.oauth2.private_key contains no private key in PEM form"
      ]),
    Mistake(
      "a scope, parameters, statuses and a window",
      #"""
      credentials:
        a:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_secret: {env: TOKEN}
            scope: "a  b"
            parameters: {grant_type: x, audience: [y]}
            retry_statuses: [200]
            refresh_window: {interval: 30, attempts: 0}
      """#,
      [
        "9:14: error: credentials.a.oauth2.scope must be words separated by single spaces, not 'a  b'",
        "10:20: error: credentials.a.oauth2.parameters.grant_type is a parameter that the proxy sets itself",
        "10:45: error: credentials.a.oauth2.parameters.audience must be a text, not a list",
        "11:24: error: credentials.a.oauth2.retry_statuses[0] must be a status from 400 to 599, not '200'",
        "12:34: error: credentials.a.oauth2.refresh_window.interval: '30' needs a unit: 250ms, 30s, 5m or 1h",
        "12:48: error: credentials.a.oauth2.refresh_window.attempts must be from 1 to 1000000, not '0'",
      ]),
    Mistake(
      "a token endpoint's trust",
      #"""
      trust:
        lab: [{disabled: {}}]
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, trust: lab}}
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, trust: lap}}
        c: {oauth2: {grant: client_credentials, token_url: http://127.0.0.1/t, client_id: c, client_secret: {env: TOKEN}, trust: lab}}
      """#,
      [
        "5:117: error: credentials.a.oauth2: trust 'lab' is disabled, so secrets may go to the token endpoint "
          + "only with 'allow_untrusted: true' in the credential",
        "6:117: error: credentials.b.oauth2.trust: there is no 'lap' in 'trust' (did you mean 'lab'?)",
        "7:124: error: credentials.c.oauth2.trust has no effect: the token endpoint is http://",
      ]),
    Mistake(
      "a token endpoint that nobody evaluates",
      #"""
      all_hosts_must_be_evaluated: true
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}}}
      """#,
      [
        "4:54: error: credentials.a.oauth2 names no 'trust', but all_hosts_must_be_evaluated is true"
      ]),
    Mistake(
      "token stores",
      #"""
      token_store: disk
      """#,
      [
        "2:14: error: token_store must be memory, {file: ...}, {redis: ...} or {kubernetes: ...}, not 'disk'"
      ]),
    Mistake(
      "a token store without a file",
      #"""
      token_store: {key: {file: key32}}
      """#,
      [
        "2:1: error: token_store needs one of 'file', 'redis' and 'kubernetes'"
      ]),
    Mistake(
      "a token store's key of another length",
      #"""
      token_store: {file: tokens.json, key: {file: token}}
      """#,
      [
        "2:39: error: token_store.key must be 32 bytes in base64 (openssl rand -base64 32)"
      ]),
  ]
}

extension Mistake {
  /// What is said of a credential with several kinds, or none.
  static let oneKind =
    "must have one of 'basic', 'bearer', 'header', 'oauth2', 'sigv4', 'cloud_identity', 'jwt', 'github_app', 'hmac', "
    + "'http_signature', 'digest', 'negotiate', 'query' and 'path'"
}
