extension Mistake {
  /// `sigv4`, but for where fetched keys come from.
  static let ofSigV4: [Mistake] = [
    Mistake(
      "services and regions that are none",
      #"""
      credentials:
        a: {sigv4: {service: S3, region: "eu central", access_key_id: A, secret_access_key: {env: TOKEN}}}
        b: {sigv4: {service: [s3, auto, "s3/x"], region: [], access_key_id: A, secret_access_key: {env: TOKEN}}}
        c: {sigv4: {service: {name: s3}, region: [eu-west-1, ""], access_key_id: A, secret_access_key: {env: TOKEN}}}
      """#,
      [
        "3:24: error: credentials.a.sigv4.service must consist of at most 64 lower-case letters, digits, '-' and '.', not 'S3'",
        "3:36: error: credentials.a.sigv4.region must consist of at most 64 letters, digits, '-', '_' and '.', not 'eu central'",
        "4:29: error: credentials.b.sigv4.service[1]: 'auto' cannot be in a list: a list is auto, but only these",
        "4:35: error: credentials.b.sigv4.service[2] must consist of at most 64 lower-case letters, digits, '-' and '.', not 's3/x'",
        "4:52: error: credentials.b.sigv4.region is empty",
        "5:24: error: credentials.c.sigv4.service must be a text, not a mapping",
        "5:56: error: credentials.c.sigv4.region[1] must be a text, not an empty one",
      ]),
    Mistake(
      "static keys that are not whole",
      #"""
      credentials:
        a: {sigv4: {access_key_id: A}}
        b: {sigv4: {secret_access_key: {env: TOKEN}}}
        c: {sigv4: {access_key_id: A, session_token: {env: TOKEN}}}
        d: {sigv4: {acess_key_id: A, secret_access_key: {env: TOKEN}}}
      """#,
      [
        "3:7: error: credentials.a.sigv4 needs 'secret_access_key' beside 'access_key_id'",
        "4:7: error: credentials.b.sigv4 needs 'access_key_id' beside 'secret_access_key'",
        "5:7: error: credentials.c.sigv4 needs 'secret_access_key' beside 'access_key_id'",
        "6:15: error: unknown key 'acess_key_id' in credentials.d.sigv4 (did you mean 'access_key_id'?)",
      ]),
    Mistake(
      "static keys beside a source",
      #"""
      credentials:
        a: {sigv4: {access_key_id: A, secret_access_key: {env: TOKEN}, source: default}}
        b:
          sigv4:
            access_key_id: A
            secret_access_key: {env: TOKEN}
            profile: x
            sts: https://sts.example.com
      """#,
      [
        "3:66: error: credentials.a.sigv4.source cannot be used with static keys ('access_key_id')",
        "8:7: error: credentials.b.sigv4.profile cannot be used with static keys ('access_key_id')",
        "9:7: error: credentials.b.sigv4.sts cannot be used with static keys ('access_key_id')",
      ]),
    Mistake(
      "static keys that cannot be written",
      #"""
      credentials:
        a: {sigv4: {access_key_id: "A B", secret_access_key: {file: lines}, session_token: {file: words}}}
        b: {sigv4: {access_key_id: "A,B", secret_access_key: {env: EMPTY}, session_token: {env: TOKEN}}}
      """#,
      [
        "3:30: error: credentials.a.sigv4.access_key_id must consist of at most 128 visible ASCII characters without ','",
        "3:56: error: credentials.a.sigv4.secret_access_key contains a control character, possibly a line break",
        "3:86: error: credentials.a.sigv4.session_token contains a character that is not visible ASCII",
        "4:30: error: credentials.b.sigv4.access_key_id must consist of at most 128 visible ASCII characters without ','",
        "4:62: error: credentials.b.sigv4.secret_access_key: environment variable 'EMPTY' is empty",
      ]),
    Mistake(
      "payloads that are none, or not for the service",
      #"""
      credentials:
        a: {sigv4: {payload: hashed, access_key_id: A, secret_access_key: {env: TOKEN}}}
        b: {sigv4: {payload: unsigned, service: execute-api, access_key_id: A, secret_access_key: {env: TOKEN}}}
        c: {sigv4: {payload: unsigned, service: [s3, sqs], access_key_id: A, secret_access_key: {env: TOKEN}}}
        d: {sigv4: {payload: unsigned, service: [s3, s3-outposts], access_key_id: A, secret_access_key: {env: TOKEN}}}
      """#,
      [
        "3:24: error: credentials.a.sigv4.payload must be auto, signed or unsigned, not 'hashed'",
        "4:24: error: credentials.b.sigv4.payload unsigned is for s3, not for 'execute-api': other services need the body's hash",
        "5:24: error: credentials.c.sigv4.payload unsigned is for s3, not for 'sqs': other services need the body's hash",
      ]),
    Mistake(
      "sigv4 beside another kind",
      #"""
      credentials:
        a: {sigv4: {access_key_id: A, secret_access_key: {env: TOKEN}}, bearer: {token: {env: TOKEN}}}
      """#,
      [
        "3:3: error: credentials.a \(Mistake.oneKind)"
      ]),
  ]
}
