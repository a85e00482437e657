extension Mistake {
  /// Token exchange, and what is on behalf of an app's user.
  static let ofExchanges: [Mistake] = [
    Mistake(
      "keys of a token exchange with another grant",
      #"""
      credentials:
        a:
          oauth2:
            grant: password
            token_url: https://l/t
            client_id: c
            username: u
            password: {env: TOKEN}
            subject_token: client
            subject_token_type: jwt
            actor_token: {env: TOKEN}
            actor_token_type: jwt
            requested_token_type: jwt
            audience: x
      """#,
      [
        "10:7: error: credentials.a.oauth2.subject_token cannot be used with grant password",
        "11:7: error: credentials.a.oauth2.subject_token_type cannot be used with grant password",
        "12:7: error: credentials.a.oauth2.actor_token cannot be used with grant password",
        "13:7: error: credentials.a.oauth2.actor_token_type cannot be used with grant password",
        "14:7: error: credentials.a.oauth2.requested_token_type cannot be used with grant password",
        "15:7: error: credentials.a.oauth2.audience cannot be used with grant password",
      ]),
    Mistake(
      "an exchange of nothing, or of something that is no token",
      #"""
      credentials:
        a: {oauth2: {grant: token_exchange, token_url: https://l/t}}
        b: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {credentials: a}}}
        c: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: [client]}}
        d: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {file: token, credential: a}}}
        e: {oauth2: {grant: token_exchange, token_url: https://l/t, subjekt_token: client}}
        f: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {env: TOKEN}, audience: []}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'subject_token' for grant token_exchange",
        "4:79: error: unknown key 'credentials' in credentials.b.oauth2.subject_token (did you mean 'credential'?)",
        "5:78: error: credentials.c.oauth2.subject_token must be a secret: {file: ...}, {env: ...}, {command: [...]} or a text, "
          + "not a list",
        "6:92: error: unknown key 'credential' in credentials.d.oauth2.subject_token",
        "7:63: error: unknown key 'subjekt_token' in credentials.e.oauth2 (did you mean 'subject_token'?)",
        "8:102: error: credentials.f.oauth2.audience is empty",
      ]),
    Mistake(
      "types of tokens",
      #"""
      credentials:
        a: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: client, subject_token_type: acces_token}}
        b: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: client, actor_token_type: jwt}}
        c: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: client, actor_token: {env: TOKEN}}}
        d: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: client, requested_token_type: refresh_token}}
      """#,
      [
        "3:106: error: credentials.a.oauth2.subject_token_type must be access_token, id_token, refresh_token, jwt, saml1, saml2 or "
          + "a URI, not 'acces_token' (did you mean 'access_token'?)",
        "4:86: error: credentials.b.oauth2.actor_token_type belongs to 'actor_token', which is missing",
        "5:7: error: credentials.c.oauth2 needs 'actor_token_type' for an 'actor_token' that is a secret",
        "6:108: error: credentials.d.oauth2.requested_token_type: APIs take no refresh token",
      ]),
    Mistake(
      "an actor whose token the app sends",
      #"""
      credentials:
        a: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: client, actor_token: client, actor_token_type: jwt}}
      upstreams: [{match: h, credential: a}]
      """#,
      [
        "3:99: error: credentials.a.oauth2.actor_token: only 'subject_token' can be 'client', the token that the app sends"
      ]),
    Mistake(
      "sources that are missing, not oauth2, circular, or of many users",
      #"""
      credentials:
        key: {bearer: {token: {env: TOKEN}}}
        a: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {credential: nobody}}}
        b: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {credential: key}}}
        c: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {credential: c}}}
        d: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {credential: e}}}
        e: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: client, actor_token: {credential: f}}}
        f: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {credential: d}}}
        g: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {credential: d}}}
        h: {oauth2: {grant: jwt_bearer, token_url: https://l/t, assertion: client}}
        i: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: {credential: h}}}
      """#,
      [
        "4:91: error: credentials.a.oauth2.subject_token.credential: there is no 'nobody' in 'credentials'",
        "5:91: error: credentials.b.oauth2.subject_token.credential: credential 'key' has no oauth2",
        "6:91: error: credentials.c.oauth2.subject_token.credential is circular: c needs c",
        "7:91: error: credentials.d.oauth2.subject_token.credential is circular: d needs e needs f needs d",
        "8:112: error: credentials.e.oauth2.actor_token.credential is circular: e needs f needs d needs e",
        "9:91: error: credentials.f.oauth2.subject_token.credential is circular: f needs d needs e needs f",
        "12:91: error: credentials.i.oauth2.subject_token.credential: credential 'h' has a token for each user of an app, so it "
          + "cannot be exchanged",
      ]),
    Mistake(
      "the app's own token, which goes to the API as well",
      #"""
      credentials:
        a: {oauth2: {grant: token_exchange, token_url: https://l/t, subject_token: client}}
        b: {oauth2: {grant: jwt_bearer, token_url: https://l/t, assertion: client}}
      upstreams:
        - {match: h, credential: a, client_authorization: keep}
        - {match: i, credential: b, client_authorization: reject}
      """#,
      [
        "6:53: error: upstreams[0].client_authorization must be replace: credential 'a' exchanges the token that the app sends",
        "7:53: error: upstreams[1].client_authorization must be replace: credential 'b' exchanges the token that the app sends",
      ]),
    Mistake(
      "fields that an exchange sets itself",
      #"""
      credentials:
        a:
          oauth2:
            grant: token_exchange
            token_url: https://l/t
            subject_token: client
            parameters: {audience: x, actor_token: x, requested_token_type: x, resource: x}
      """#,
      [
        "8:20: error: credentials.a.oauth2.parameters.audience is a parameter that the proxy sets itself",
        "8:33: error: credentials.a.oauth2.parameters.actor_token is a parameter that the proxy sets itself",
        "8:49: error: credentials.a.oauth2.parameters.requested_token_type is a parameter that the proxy sets itself",
      ]),
  ]
}
