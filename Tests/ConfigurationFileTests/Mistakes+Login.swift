extension Mistake {
  /// Grants with a login.
  static let ofLogins: [Mistake] = [
    Mistake(
      "a login without a store",
      #"""
      credentials:
        a: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c}}
        b: {oauth2: {grant: device_code, issuer: https://l, client_id: c}}
      token_store: memory
      """#,
      [
        "3:23: error: credentials.a.oauth2.grant authorization_code needs a 'token_store' other than memory: 'authproxy login' "
          + "leaves the tokens there",
        "4:23: error: credentials.b.oauth2.grant device_code needs a 'token_store' other than memory: 'authproxy login' "
          + "leaves the tokens there",
      ]),
    Mistake(
      "a login whose store has an error gets no second one",
      #"""
      credentials:
        a: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c}}
      token_store: disk
      """#,
      [
        "4:14: error: token_store must be memory, {file: ...}, {redis: ...} or {kubernetes: ...}, not 'disk'"
      ]),
    Mistake(
      "a login whose store is misspelt gets no second one",
      #"""
      credentials:
        a: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c}}
      token_stor: {file: tokens.json}
      """#,
      [
        "4:1: error: unknown key 'token_stor' (did you mean 'token_store'?)"
      ]),
    Mistake(
      "keys of another grant with a login",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a:
          oauth2:
            grant: authorization_code
            issuer: https://l
            client_id: c
            username: u
            password: {env: TOKEN}
            refresh_token: {env: TOKEN}
            assertion: {env: TOKEN}
        b:
          oauth2:
            grant: device_code
            issuer: https://l
            client_id: c
            authorization_url: https://l/a
            redirect_uri: http://127.0.0.1/callback
      """#,
      [
        "9:7: error: credentials.a.oauth2.username cannot be used with grant authorization_code",
        "10:7: error: credentials.a.oauth2.password cannot be used with grant authorization_code",
        "11:7: error: credentials.a.oauth2.refresh_token cannot be used with grant authorization_code",
        "12:7: error: credentials.a.oauth2.assertion cannot be used with grant authorization_code",
        "18:7: error: credentials.b.oauth2.authorization_url cannot be used with grant device_code",
        "19:7: error: credentials.b.oauth2.redirect_uri cannot be used with grant device_code",
      ]),
    Mistake(
      "keys of a login with another grant",
      #"""
      credentials:
        a:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_secret: {env: TOKEN}
            authorization_url: https://l/a
            device_authorization_url: https://l/d
            revocation_url: https://l/r
            redirect_uri: http://127.0.0.1/callback
            authorization_parameters: {prompt: consent}
            use: id_token
            subject: me
            login_lifetime: 90d
      """#,
      [
        "9:7: error: credentials.a.oauth2.authorization_url cannot be used with grant client_credentials",
        "10:7: error: credentials.a.oauth2.device_authorization_url cannot be used with grant client_credentials",
        "11:7: error: credentials.a.oauth2.revocation_url cannot be used with grant client_credentials: it has no logout",
        "12:7: error: credentials.a.oauth2.redirect_uri cannot be used with grant client_credentials",
        "13:7: error: credentials.a.oauth2.authorization_parameters cannot be used with grant client_credentials",
        "14:7: error: credentials.a.oauth2.use cannot be used with grant client_credentials",
        "15:7: error: credentials.a.oauth2.subject cannot be used with grant client_credentials",
        "16:7: error: credentials.a.oauth2.login_lifetime cannot be used with grant client_credentials",
      ]),
    Mistake(
      "a login without a page or a device endpoint",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a: {oauth2: {grant: authorization_code, token_url: https://l/t, client_id: c}}
        b: {oauth2: {grant: device_code, token_url: https://l/t, client_id: c}}
        c: {oauth2: {grant: device_code, client_id: c}}
        d: {oauth2: {grant: authorization_code, token_url: https://l/t, client_id: c, authorisation_url: https://l/a}}
      """#,
      [
        "4:7: error: credentials.a.oauth2 needs 'authorization_url' beside 'token_url', or 'issuer' instead of it, for grant "
          + "authorization_code",
        "5:7: error: credentials.b.oauth2 needs 'device_authorization_url' beside 'token_url', or 'issuer' instead of it, for "
          + "grant device_code",
        "6:7: error: credentials.c.oauth2 needs 'token_url' or 'issuer'",
        "7:81: error: unknown key 'authorisation_url' in credentials.d.oauth2 (did you mean 'authorization_url'?)",
      ]),
    Mistake(
      "endpoints in the clear",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a:
          oauth2:
            grant: authorization_code
            issuer: https://l
            client_id: c
            authorization_url: http://login.example.com/a
            device_authorization_url: /device
            revocation_url: https://user@l/r
      """#,
      [
        "9:26: error: credentials.a.oauth2.authorization_url must be https unless it is on loopback: a person writes a "
          + "password there",
        "10:33: error: credentials.a.oauth2.device_authorization_url must start with https:// or http://",
        "11:23: error: credentials.a.oauth2.revocation_url must not contain a user or password",
      ]),
    Mistake(
      "redirect URIs that no browser may follow",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c, redirect_uri: http://192.0.2.7/callback}}
        b: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c, redirect_uri: "app:/callback"}}
        c: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c, redirect_uri: "http://127.0.0.1/?a=b"}}
        d: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c, redirect_uri: "https://a.example/#b"}}
        e: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c, redirect_uri: "https://me@a.example/"}}
        f: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c, redirect_uri: /callback}}
      """#,
      [
        "4:90: error: credentials.a.oauth2.redirect_uri must be http on 127.0.0.1, [::1] or localhost, or https",
        "5:90: error: credentials.b.oauth2.redirect_uri must be http on 127.0.0.1, [::1] or localhost, or https",
        "6:90: error: credentials.c.oauth2.redirect_uri must not have a query, a fragment or a user",
        "7:90: error: credentials.d.oauth2.redirect_uri must not have a query, a fragment or a user",
        "8:90: error: credentials.e.oauth2.redirect_uri must not have a query, a fragment or a user",
        "9:90: error: credentials.f.oauth2.redirect_uri must be an absolute URL, such as http://127.0.0.1/callback",
      ]),
    Mistake(
      "parameters of a login that have a key or are new for each login",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a:
          oauth2:
            grant: authorization_code
            issuer: https://l
            client_id: c
            authorization_parameters:
              response_type: token
              client_id: d
              redirect_uri: http://127.0.0.1/
              scope: s
              state: s
              nonce: n
              code_challenge: c
              code_challenge_method: plain
              request: r
              request_uri: "urn:r"
              resource: https://api
              dpop_jkt: k
              client_secret: s3cr3t
              client_assertion: s3cr3t
              client_assertion_type: t
      """#,
      [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge", "code_challenge_method",
        "request", "request_uri", "resource", "dpop_jkt", "client_secret", "client_assertion", "client_assertion_type",
      ].enumerated().map { index, name in
        let hasKey = ["client_id", "redirect_uri", "scope", "resource", "client_secret", "client_assertion"].contains(name)
        return "\(10 + index):9: error: credentials.a.oauth2.authorization_parameters.\(name) is a parameter that the proxy "
          + "sets itself" + (hasKey ? "; use the key '\(name)' of oauth2" : "")
      }),
    Mistake(
      "parameters of token requests that a login sets itself",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a:
          oauth2:
            grant: device_code
            issuer: https://l
            client_id: c
            resource: https://api.example.com
            parameters: {code: x, code_verifier: x, redirect_uri: x, device_code: x, resource: x, audience: x}
      """#,
      [
        "10:20: error: credentials.a.oauth2.parameters.code is a parameter that the proxy sets itself",
        "10:29: error: credentials.a.oauth2.parameters.code_verifier is a parameter that the proxy sets itself",
        "10:47: error: credentials.a.oauth2.parameters.redirect_uri is a parameter that the proxy sets itself",
        "10:64: error: credentials.a.oauth2.parameters.device_code is a parameter that the proxy sets itself",
        "10:80: error: credentials.a.oauth2.parameters.resource would be sent twice: write it into the key 'resource' only",
      ]),
    Mistake(
      "resources that are no absolute URIs",
      #"""
      credentials:
        a:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_secret: {env: TOKEN}
            resource: [api.example.com, "https://api.example.com/#part", "https:", "1a:b", "urn:a b", "urn:ok"]
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, resource: []}}
      """#,
      [
        "9:18: error: credentials.a.oauth2.resource[0] must be an absolute URI, such as https://api.example.com, not "
          + "'api.example.com'",
        "9:35: error: credentials.a.oauth2.resource[1] must not have a fragment ('#...')",
        "9:68: error: credentials.a.oauth2.resource[2] must be an absolute URI, such as https://api.example.com, not 'https:'",
        "9:78: error: credentials.a.oauth2.resource[3] must be an absolute URI, such as https://api.example.com, not '1a:b'",
        "9:86: error: credentials.a.oauth2.resource[4] must be an absolute URI, such as https://api.example.com, not 'urn:a b'",
        "10:120: error: credentials.b.oauth2.resource is empty",
      ]),
    Mistake(
      "an id_token that the scope does not ask for",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c, scope: mail, use: id_token}}
        b: {oauth2: {grant: device_code, issuer: https://l, client_id: c, subject: me}}
        c: {oauth2: {grant: device_code, issuer: https://l, client_id: c, use: refresh_token}}
      """#,
      [
        "4:94: error: credentials.a.oauth2.use id_token needs openid in 'scope'",
        "5:69: error: credentials.b.oauth2.subject needs openid in 'scope': only an id_token says who has logged in",
        "6:74: error: credentials.c.oauth2.use must be access_token or id_token, not 'refresh_token'",
      ]),
    Mistake(
      "an id_token of nobody",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a:
          oauth2:
            grant: authorization_code
            token_url: https://l/t
            authorization_url: https://l/a
            client_id: c
            scope: "mail openid"
      """#,
      [
        "10:14: error: credentials.a.oauth2.scope has openid, so 'issuer' is needed instead of 'token_url': the id_token "
          + "must name it"
      ]),
    Mistake(
      "a login without a client, or without its secret",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a: {oauth2: {grant: authorization_code, issuer: https://l}}
        b: {oauth2: {grant: device_code, issuer: https://l, client_assertion: {env: TOKEN}}}
        c: {oauth2: {grant: device_code, issuer: https://l, client_id: c, client_secret: {file: none}}}
        d: {oauth2: {grant: device_code, issuer: https://l, client_id: c, login_lifetime: 90}}
      """#,
      [
        "4:7: error: credentials.a.oauth2 needs 'client_id'",
        "5:7: error: credentials.b.oauth2 needs 'client_id'",
        "6:84: error: credentials.c.oauth2.client_secret: /etc/authproxy/none: No such file or directory",
        "7:85: error: credentials.d.oauth2.login_lifetime: '90' needs a unit: 30s, 5m, 12h or 90d",
      ]),
    Mistake(
      "the trust of an endpoint beside an http:// token endpoint",
      #"""
      trust:
        lab: [{disabled: {}}]
      token_store: {file: tokens.json}
      credentials:
        a:
          oauth2:
            grant: device_code
            token_url: http://127.0.0.1/t
            device_authorization_url: https://l/d
            client_id: c
            trust: lab
      """#,
      [
        "12:14: error: credentials.a.oauth2: trust 'lab' is disabled, so secrets may go to the token endpoint only with "
          + "'allow_untrusted: true' in the credential"
      ]),
  ]
}
