extension Mistake {
  /// `oauth2.dpop`.
  static let ofDPoP: [Mistake] = [
    Mistake(
      "values that dpop cannot have",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, dpop: yes}}
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, dpop: {}}}
        c: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, dpop: [true]}}
      """#,
      [
        "3:116: error: credentials.a.oauth2.dpop must be true or false, not 'yes'",
        "4:110: error: credentials.b.oauth2.dpop needs 'key'",
        "5:116: error: credentials.c.oauth2.dpop must be a mapping, not a list",
      ]),
    Mistake(
      "keys that dpop cannot use",
      #"""
      credentials:
        a:
          oauth2: {grant: password, token_url: https://l/t, client_id: c, username: u, password: {env: TOKEN}, dpop: {key: {file: self/weak.key}}}
        b:
          oauth2: {grant: password, token_url: https://l/t, client_id: c, username: u, password: {env: TOKEN}, dpop: {key: {file: mangled.pem}}}
        c:
          oauth2: {grant: password, token_url: https://l/t, client_id: c, username: u, password: {env: TOKEN}, dpop: {key: {file: token}}}
        d:
          oauth2: {grant: password, token_url: https://l/t, client_id: c, username: u, password: {env: TOKEN}, dpop: {key: {file: encrypted.pem}}}
      """#,
      [
        "4:118: error: credentials.a.oauth2.dpop.key must be EC over P-256: the proxy signs proofs with ES256",
        "6:118: error: credentials.b.oauth2.dpop.key is not a readable private key",
        "8:118: error: credentials.c.oauth2.dpop.key contains no private key in PEM form",
        "10:118: error: credentials.d.oauth2.dpop.key is encrypted and needs 'passphrase'",
      ]),
    Mistake(
      "what dpop cannot be together with",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a: {oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c, refresh_token: {env: TOKEN}, dpop: true}}
        b: {oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c, refresh_token: {env: TOKEN}, client_auth: none, dpop: true}}
        c: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c, scope: openid, use: id_token, dpop: true}}
        d: {oauth2: {grant: device_code, issuer: https://l, client_id: c, scope: openid, use: id_token, dpop: {key: {file: key.pem}}}}
        e: {oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, refresh_token: {env: TOKEN}, dpop: true}}
        f: {oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c, refresh_token: {env: TOKEN}, dpop: {key: {file: key.pem}}}}
        g: {oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c, refresh_token: {env: TOKEN}, dpop: false}}
      """#,
      [
        "4:111: error: credentials.a.oauth2.dpop true cannot be used with grant refresh_token of a public client: the server has bound "
          + "the token to the key of its first request; configure that key with {key: {file: ...}}",
        "5:130: error: credentials.b.oauth2.dpop true cannot be used with grant refresh_token of a public client: the server has bound "
          + "the token to the key of its first request; configure that key with {key: {file: ...}}",
        "6:112: error: credentials.c.oauth2.dpop cannot be used with use id_token: servers bind access tokens only",
        "7:105: error: credentials.d.oauth2.dpop cannot be used with use id_token: servers bind access tokens only",
      ]),
  ]
}
