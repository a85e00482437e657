extension Mistake {
  static let ofJWTs: [Mistake] = [
    Mistake(
      "both a key and a secret",
      #"""
      credentials:
        a: {jwt: {private_key: {file: key.pem}, secret: {file: long}}}
      """#,
      [
        "3:43: error: credentials.a.jwt has both 'private_key' and 'secret'; give only one of them"
      ]),
    Mistake(
      "neither a key nor a secret",
      #"""
      credentials:
        a: {jwt: {issuer: i}}
        b: {jwt: {private_ky: {file: key.pem}}}
      """#,
      [
        "3:7: error: credentials.a.jwt needs 'private_key' or 'secret'",
        "4:13: error: unknown key 'private_ky' in credentials.b.jwt (did you mean 'private_key'?)",
      ]),
    Mistake(
      "a passphrase of a secret",
      #"""
      credentials:
        a: {jwt: {secret: {file: long}, passphrase: x}}
      """#,
      [
        "3:35: error: credentials.a.jwt.passphrase belongs to 'private_key', which is missing"
      ]),
    Mistake(
      "a short secret",
      #"""
      credentials:
        a: {jwt: {secret: {file: token}}}
      """#,
      [
        "3:21: error: credentials.a.jwt.secret must have at least 32 bytes"
      ]),
    Mistake(
      "algorithms that do not fit",
      #"""
      credentials:
        a: {jwt: {private_key: {file: key.pem}, algorithm: ES384}}
        b: {jwt: {private_key: {file: key.pem}, algorithm: HS256}}
        c: {jwt: {secret: {file: long}, algorithm: RS256}}
        d: {jwt: {secret: {file: long}, algorithm: none}}
      """#,
      [
        "3:54: error: credentials.a.jwt.algorithm ES384 does not fit the private key, which signs ES256",
        "4:54: error: credentials.b.jwt.algorithm HS256 does not fit the private key, which signs ES256",
        "5:46: error: credentials.c.jwt.algorithm RS256 does not fit a secret, which signs HS256, HS384 or HS512",
        "6:46: error: credentials.d.jwt.algorithm must be RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA, "
          + "HS256, HS384 or HS512, not 'none'",
      ]),
    Mistake(
      "a weak key",
      #"""
      credentials:
        a: {jwt: {private_key: {file: rsa1024.pem}}}
        b: {http_signature: {key_id: k, private_key: {file: rsa1024.pem}}}
      """#,
      [
        "3:26: error: credentials.a.jwt.private_key must be RSA of 2048 bits or more, EC over P-256 or P-384, or Ed25519",
        "4:48: error: credentials.b.http_signature.private_key must be RSA of 2048 bits or more, EC over P-256 or P-384, or "
          + "Ed25519",
      ]),
    Mistake(
      "claims that the proxy writes",
      #"""
      credentials:
        a: {jwt: {secret: {file: long}, claims: {iss: i, sub: s, aud: a, iat: x, exp: [y], ok: z}}}
        b: {jwt: {secret: {file: long}, claims: '{"exp": 1, "ok": 2}'}}
      """#,
      [
        "3:44: error: credentials.a.jwt.claims.iss is a claim that the proxy writes itself; see 'issuer'",
        "3:52: error: credentials.a.jwt.claims.sub is a claim that the proxy writes itself; see 'subject'",
        "3:60: error: credentials.a.jwt.claims.aud is a claim that the proxy writes itself; see 'audience'",
        "3:68: error: credentials.a.jwt.claims.iat is a claim that the proxy writes itself; see 'backdate'",
        "3:76: error: credentials.a.jwt.claims.exp is a claim that the proxy writes itself; see 'lifetime'",
        "4:43: error: credentials.b.jwt.claims.exp is a claim that the proxy writes itself; see 'lifetime'",
      ]),
    Mistake(
      "claims that are none",
      #"""
      credentials:
        a: {jwt: {secret: {file: long}, claims: "admin"}}
        b: {jwt: {secret: {file: long}, claims: "[1]"}}
        c: {jwt: {secret: {file: long}, claims: {n: {a: b}}}}
        d: {jwt: {secret: {file: long}, claims: {n: [{a: b}]}}}
      """#,
      [
        "3:43: error: credentials.a.jwt.claims is no JSON object: not JSON, at byte 0",
        "4:43: error: credentials.b.jwt.claims must be a JSON object",
        "5:47: error: credentials.c.jwt.claims.n must be a text, not a mapping",
        "6:48: error: credentials.d.jwt.claims.n[0] must be a text, not a mapping",
      ]),
    Mistake(
      "a JWT that has ended before it is sent",
      #"""
      credentials:
        a: {jwt: {secret: {file: long}, lifetime: 1m}}
        b: {jwt: {secret: {file: long}, lifetime: 5m, backdate: 6m}}
      """#,
      [
        "3:45: error: credentials.a.jwt.backdate must be shorter than 'lifetime', or the JWT has ended before it is sent",
        "4:59: error: credentials.b.jwt.backdate must be shorter than 'lifetime', or the JWT has ended before it is sent",
      ]),
    Mistake(
      "fields and formats of a JWT",
      #"""
      credentials:
        a: {jwt: {secret: {file: long}, field: Host, format: Bearer}}
        b: {jwt: {secret: {file: long}, field: "a b", format: "{jwt} "}}
      """#,
      [
        "3:42: error: credentials.a.jwt.field: 'Host' belongs to the connection and cannot carry a credential",
        "3:56: error: credentials.a.jwt.format must contain {jwt} exactly once",
        "4:42: error: credentials.b.jwt.field must be an HTTP field name, not 'a b'",
        "4:57: error: credentials.b.jwt.format contains a character that field values cannot have, or begins or ends with a space",
      ]),
    Mistake(
      "what the preset for Apple says itself",
      #"""
      credentials:
        a: {jwt: {preset: apns, private_key: {file: key.pem}, lifetime: 5m, expiration: true, retry_statuses: [403]}}
        b: {jwt: {preset: apns, secret: {file: long}, key_id: k, issuer: i, backdate: 6m}}
        c: {jwt: {preset: fcm, secret: {file: long}}}
      """#,
      [
        "3:7: error: credentials.a.jwt needs 'issuer' with preset apns",
        "3:7: error: credentials.a.jwt needs 'key_id' with preset apns",
        "3:57: error: credentials.a.jwt.lifetime cannot be used with preset apns, which says it",
        "3:71: error: credentials.a.jwt.expiration cannot be used with preset apns, which says it",
        "3:89: error: credentials.a.jwt.retry_statuses cannot be used with preset apns, which says it",
        "4:27: error: credentials.b.jwt needs a private key of EC over P-256 with preset apns",
        "4:81: error: credentials.b.jwt.backdate must be at most 5m with preset apns: Apple refuses JWTs whose iat is an hour old",
        "5:21: error: credentials.c.jwt.preset must be apns, not 'fcm'",
      ]),
  ]

  static let ofHMACs: [Mistake] = [
    Mistake(
      "what is missing",
      #"""
      credentials:
        a: {hmac: {algorithm: sha256}}
      """#,
      [
        "3:7: error: credentials.a.hmac needs 'fields'",
        "3:7: error: credentials.a.hmac needs 'key'",
        "3:7: error: credentials.a.hmac needs 'message'",
      ]),
    Mistake(
      "keys that are not in their encoding",
      #"""
      credentials:
        a: {hmac: {key: "!", key_encoding: base64, message: "{method}", fields: {X: "{signature}"}}}
        b: {hmac: {key: abc, key_encoding: hex, message: "{method}", fields: {X: "{signature}"}}}
      """#,
      [
        "3:19: error: credentials.a.hmac.key is not base64", "4:19: error: credentials.b.hmac.key is not hex",
      ]),
    Mistake(
      "placeholders that nobody fills",
      #"""
      credentials:
        a: {hmac: {key: k, message: "{metod}", fields: {X: "{pass}{signature}"}}}
        b: {hmac: {key: k, message: "{method", fields: {X: "}{signature}"}}}
        c: {hmac: {key: k, message: "{signature}", fields: {X: "{body}{signature}"}}}
      """#,
      [
        "3:31: error: credentials.a.hmac.message: nothing fills the placeholder {metod} (did you mean 'method'?)",
        "3:54: error: credentials.a.hmac.fields.X: nothing fills the placeholder {pass}",
        "4:31: error: credentials.b.hmac.message has a brace alone; {{ and }} stand for braces",
        "4:54: error: credentials.b.hmac.fields.X has a brace alone; {{ and }} stand for braces",
        "5:31: error: credentials.c.hmac.message: the message cannot have {signature}, which is made from it",
        "5:58: error: credentials.c.hmac.fields.X: a field cannot have {body}; it can have {body_sha256}",
      ]),
    Mistake(
      "fields without the signature, twice, or of the connection",
      #"""
      credentials:
        a: {hmac: {key: k, message: "{method}", fields: {X: "{timestamp}"}}}
        b: {hmac: {key: k, message: "{method}", fields: {X: "{signature}", x: "{nonce}", Expect: a, Via: b, "a b": c}}}
        c: {hmac: {key: k, message: "{method}", fields: {X: "{signature} "}}}
      """#,
      [
        "3:43: error: credentials.a.hmac.fields: no field has {signature}",
        "4:70: error: credentials.b.hmac.fields.x is written twice: field names ignore case",
        "4:84: error: credentials.b.hmac.fields.Expect: 'Expect' belongs to the connection and cannot carry a credential",
        "4:95: error: credentials.b.hmac.fields.Via: 'Via' belongs to the connection and cannot carry a credential",
        "4:103: error: credentials.b.hmac.fields.a b must be an HTTP field name, not 'a b'",
        "5:55: error: credentials.c.hmac.fields.X contains a character that field values cannot have, or begins or ends with a space",
      ]),
    Mistake(
      "fields of the connection and the framing",
      #"""
      credentials:
        a: {hmac: {key: k, message: "{method}", fields: {X: "{signature}", Host: a, Content-Length: a, Transfer-Encoding: a,
            Connection: a, Keep-Alive: a, Upgrade: a, TE: a, Trailer: a, Proxy-Connection: a}}}
      """#,
      [(3, 70, "Host"), (3, 79, "Content-Length"), (3, 98, "Transfer-Encoding")].map(belonging)
        + [
          (4, 7, "Connection"), (4, 22, "Keep-Alive"), (4, 37, "Upgrade"), (4, 49, "TE"), (4, 56, "Trailer"),
          (4, 68, "Proxy-Connection"),
        ].map(belonging)),
    Mistake(
      "fields of the request that cannot be signed",
      #"""
      credentials:
        a: {hmac: {key: k, message: "{field:Connection}", fields: {X: "{signature}"}}}
        b: {hmac: {key: k, message: "{field:X-Time}", fields: {X: "{signature}", X-Time: "{timestamp}"}}}
        c: {hmac: {key: k, message: "{field:a b}", fields: {X: "{signature}"}}}
      """#,
      [
        "3:31: error: credentials.a.hmac.message: 'connection' belongs to one connection, or changes on the way",
        "4:31: error: credentials.b.hmac.message: 'x-time' is a field that the credential writes; use the placeholders that it is "
          + "made of",
        "5:31: error: credentials.c.hmac.message: 'a b' is no field name",
      ]),
    Mistake(
      "values under a name that is taken, or that a field cannot have",
      #"""
      credentials:
        a: {hmac: {key: k, message: "{method}", values: {body: x, "a b": y}, fields: {X: "{signature}"}}}
        b: {hmac: {key: k, message: "{id}", values: {id: {file: lines}}, fields: {X: "{signature}{id}"}}}
      """#,
      [
        "3:52: error: credentials.a.hmac.values.body is a placeholder of every request",
        "3:61: error: credentials.a.hmac.values.a b is no placeholder's name",
        "4:47: error: credentials.b.hmac.values.id contains a character that field values cannot have, possibly a line break",
      ]),
  ]

  private static func belonging(_ line: Int, _ column: Int, _ name: String) -> String {
    "\(line):\(column): error: credentials.a.hmac.fields.\(name): '\(name)' belongs to the connection and cannot carry a credential"
  }

  static let ofHTTPSignatures: [Mistake] = [
    Mistake(
      "what is missing, or too much",
      #"""
      credentials:
        a: {http_signature: {tag: t}}
        b: {http_signature: {key_id: k, private_key: {file: key.pem}, secret: s}}
      """#,
      [
        "3:7: error: credentials.a.http_signature needs 'key_id'",
        "3:7: error: credentials.a.http_signature needs 'private_key' or 'secret'",
        "4:65: error: credentials.b.http_signature has both 'private_key' and 'secret'; give only one of them",
      ]),
    Mistake(
      "algorithms that do not fit",
      #"""
      credentials:
        a: {http_signature: {key_id: k, private_key: {file: key.pem}, algorithm: ed25519}}
        b: {http_signature: {key_id: k, secret: {file: token}, algorithm: ecdsa-p256-sha256}}
      """#,
      [
        "3:76: error: credentials.a.http_signature.algorithm ed25519 does not fit the private key, which signs ecdsa-p256-sha256",
        "4:69: error: credentials.b.http_signature.algorithm ecdsa-p256-sha256 does not fit a secret, which signs hmac-sha256",
      ]),
    Mistake(
      "components that cannot be signed",
      #"""
      credentials:
        a: {http_signature: {key_id: k, secret: s, components: ["@metod", "@status", "@query-param", "a b", X, x]}}
        b: {http_signature: {key_id: k, secret: s, components: [Host, Content-Length, via, Expect, TE, Signature]}}
        c: {http_signature: {key_id: k, secret: s, components: []}}
        d: {http_signature: {key_id: k, secret: s, components: [Connection, Keep-Alive, Transfer-Encoding, Upgrade, Trailer]}}
      """#,
      [
        "3:59: error: credentials.a.http_signature.components[0] must be @method, @authority, @path, @query, @target-uri, @scheme "
          + "or @request-target, not '@metod' (did you mean '@method'?), or a field's name",
        "3:69: error: credentials.a.http_signature.components[1] must be @method, @authority, @path, @query, @target-uri, @scheme "
          + "or @request-target, not '@status', or a field's name",
        "3:80: error: credentials.a.http_signature.components[2] must be @method, @authority, @path, @query, @target-uri, @scheme "
          + "or @request-target, not '@query-param', or a field's name",
        "3:96: error: credentials.a.http_signature.components[3] must be a derived component or a field's name, not 'a b'",
        "3:106: error: credentials.a.http_signature.components[5]: 'x' is there twice",
      ]
        + zip(
          [59, 65, 81, 86, 94, 98], ["host", "content-length", "via", "expect", "te", "signature"]
        ).enumerated().map { index, item in
          "4:\(item.0): error: credentials.b.http_signature.components[\(index)]: '\(item.1)' belongs to one connection, or changes "
            + "on the way, and cannot be signed"
        }
        + ["5:58: error: credentials.c.http_signature.components is empty: the signature would fit any request"]
        + zip([59, 71, 83, 102, 111], ["connection", "keep-alive", "transfer-encoding", "upgrade", "trailer"])
        .enumerated().map { index, item in
          "6:\(item.0): error: credentials.d.http_signature.components[\(index)]: '\(item.1)' belongs to one connection, or changes "
            + "on the way, and cannot be signed"
        }),
    Mistake(
      "parameters that structured fields cannot have",
      #"""
      credentials:
        a: {http_signature: {key_id: "schlüssel", secret: s, tag: "ä", label: Sig}}
      """#,
      [
        "3:32: error: credentials.a.http_signature.key_id must be ASCII without controls, as a string of a structured field is",
        "3:61: error: credentials.a.http_signature.tag must be ASCII without controls, as a string of a structured field is",
        "3:73: error: credentials.a.http_signature.label must begin with a lower-case letter, and go on with these, digits and "
          + "_-.*, not 'Sig'",
      ]),
    Mistake(
      "a host that the app writes and the proxy signs",
      #"""
      upstreams:
        - {match: a, host_header: app, credential: aws}
        - {match: b, host_header: app, credential: standard}
        - {match: c, host_header: app, credential: uri}
        - {match: d, host_header: app, credential: url}
        - {match: e, host_header: app, credential: authority}
        - {match: f, host_header: app, credential: path}
        - {match: g, host_header: app, credential: target}
        - {match: h, host_header: origin, credential: standard}
      credentials:
        aws: {sigv4: {access_key_id: A, secret_access_key: {env: TOKEN}}}
        standard: {http_signature: {key_id: k, secret: s}}
        uri: {http_signature: {key_id: k, secret: s, components: ["@target-uri"]}}
        path: {http_signature: {key_id: k, secret: s, components: ["@path"]}}
        url: {hmac: {key: k, message: "{url}", fields: {X: "{signature}"}}}
        authority: {hmac: {key: k, message: "{authority}", fields: {X: "{signature}"}}}
        target: {hmac: {key: k, message: "{target}", fields: {X: "{signature}", Y: "{authority}"}}}
      """#,
      ["aws", "standard", "uri", "url", "authority"].enumerated().map { index, name in
        "\(index + 3):29: error: upstreams[\(index)].host_header cannot be app: credential '\(name)' signs for the host that the "
          + "request goes to"
      }),
  ]
}
