extension Mistake {
  /// `digest`.
  static let ofDigest: [Mistake] = [
    Mistake(
      "values that digest cannot have",
      #"""
      credentials:
        a: {digest: {}}
        b: {digest: {username: "", password: {env: TOKEN}, algorithms: [SHA-256]}}
        c: {digest: {username: "a\tb", password: {env: TOKEN}, algorithms: [SHA-256]}}
        d: {digest: {username: a, password: {file: lines}, algorithms: [SHA-256]}}
        e: {digest: {username: a, password: {env: TOKEN}, algorithms: [SHA-256, MD4, SHA-256]}}
        f: {digest: {username: a, password: {env: TOKEN}, algorithms: []}}
        g: {digest: {username: a, password: {env: TOKEN}, algorithms: SHA-256}}
        h: {digest: {username: a, pasword: {env: TOKEN}, realm: b}}
        i: {digest: {username: a, password: {env: TOKEN}}, basic: {username: a, password: {env: TOKEN}}}
      """#,
      [
        "3:7: error: credentials.a.digest needs 'password'",
        "3:7: error: credentials.a.digest needs 'username'",
        "4:26: error: credentials.b.digest.username must be a text, not an empty one",
        "5:26: error: credentials.c.digest.username must have 1 to 1024 bytes and no control character",
        "6:39: error: credentials.d.digest.password contains a control character, possibly a line break",
        "7:75: error: credentials.e.digest.algorithms[1] must be SHA-512-256, SHA-256 or MD5, not 'MD4' (did you mean 'MD5'?)",
        "7:80: error: credentials.e.digest.algorithms[2] is already in this list",
        "8:65: error: credentials.f.digest.algorithms is empty",
        "9:65: error: credentials.g.digest.algorithms must be a list, not a text",
        "10:29: error: unknown key 'pasword' in credentials.h.digest (did you mean 'password'?)",
        "10:52: error: unknown key 'realm' in credentials.h.digest",
        "11:3: error: credentials.i \(Mistake.oneKind)",
      ]),
    Mistake(
      "an entry that keeps the app's own answer",
      #"""
      upstreams:
        - {match: a, credential: a, client_authorization: keep}
        - {match: b, credential: a, client_authorization: reject}
      credentials:
        a: {digest: {username: a, password: {env: TOKEN}, algorithms: [SHA-256]}}
      """#,
      [
        "3:53: error: upstreams[0].client_authorization cannot be keep: credential 'a' answers the origin's challenges itself"
      ]),
  ]

  /// Accepted, with a warning.
  static let ofOddDigest: [Mistake] = [
    Mistake(
      "Digest with MD5, and in clear text",
      #"""
      upstreams:
        - {match: a, credential: a}
        - {match: b, credential: b}
        - {match: c, origin: "http://c", credential: c}
      credentials:
        a: {digest: {username: a, password: {env: TOKEN}}}
        b: {digest: {username: a, password: {env: TOKEN}, algorithms: [SHA-256, MD5]}}
        c: {digest: {username: a, password: {env: TOKEN}, algorithms: [SHA-256]}, allow_plaintext: true}
      """#,
      [
        "5:48: warning: upstreams[2].credential: credential 'c' goes to an http:// origin with Digest: who listens can try passwords "
          + "on what is sent, and change the requests",
        "7:7: warning: credentials.a.digest answers to MD5, which is weak; if the server can do better, set algorithms: "
          + "[SHA-512-256, SHA-256]",
        "8:65: warning: credentials.b.digest answers to MD5, which is weak; if the server can do better, set algorithms: "
          + "[SHA-512-256, SHA-256]",
      ])
  ]
}
