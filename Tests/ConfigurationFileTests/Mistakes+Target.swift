extension Mistake {
  /// `query` and `path`.
  static let ofTargets: [Mistake] = [
    Mistake(
      "values that query cannot have",
      #"""
      credentials:
        a: {query: {}}
        b: {query: {name: "", value: {env: TOKEN}}}
        c: {query: {name: "a\tb", value: {env: TOKEN}}}
        d: {query: {name: key, value: {file: lines}}}
        e: {query: {nam: key, value: {env: TOKEN}, in: cookie}}
        f: {query: {name: key, value: {env: TOKEN}}, bearer: {token: {env: TOKEN}}}
      """#,
      [
        "3:7: error: credentials.a.query needs 'name'",
        "3:7: error: credentials.a.query needs 'value'",
        "4:21: error: credentials.b.query.name must be a text, not an empty one",
        "5:21: error: credentials.c.query.name contains a control character, possibly a line break",
        "6:33: error: credentials.d.query.value contains a control character, possibly a line break",
        "7:15: error: unknown key 'nam' in credentials.e.query (did you mean 'name'?)",
        "7:46: error: unknown key 'in' in credentials.e.query",
        "8:3: error: credentials.f \(Mistake.oneKind)",
      ]),
    Mistake(
      "values that path cannot have",
      #"""
      credentials:
        a: {path: {}}
        b: {path: {segment: bot, value: {env: TOKEN}}}
        c: {path: {segment: "{value}{value}", value: {env: TOKEN}}}
        d: {path: {segment: "a/{value}", value: {env: TOKEN}}}
        e: {path: {segment: "bot{value}?", value: {env: TOKEN}}}
        f: {path: {segment: "%62ot{value}", value: {env: TOKEN}}}
        g: {path: {segment: "bot{value}", value: {file: lines}}}
        h: {path: {segment: "{value}", value: ".."}}
        i: {path: {segmnt: "bot{value}", value: {env: TOKEN}}}
      """#,
      [
        "3:7: error: credentials.a.path needs 'segment'",
        "3:7: error: credentials.a.path needs 'value'",
        "4:23: error: credentials.b.path.segment must contain {value} exactly once",
        "5:23: error: credentials.c.path.segment must contain {value} exactly once",
        "6:23: error: credentials.d.path.segment \(noSegment)",
        "7:23: error: credentials.e.path.segment \(noSegment)",
        "8:23: error: credentials.f.path.segment \(noSegment)",
        "9:44: error: credentials.g.path.value contains a control character, possibly a line break",
        "10:41: error: credentials.h.path.value: a segment of a path cannot be '.' or '..'",
        "11:14: error: unknown key 'segmnt' in credentials.i.path (did you mean 'segment'?)",
      ]),
    Mistake(
      "an entry that must tell an app's own segment from others",
      #"""
      upstreams:
        - {match: a, credential: a, client_authorization: keep}
        - {match: b, credential: a, client_authorization: reject}
        - {match: c, credential: a, client_authorization: replace}
        - {match: d, credential: b, client_authorization: keep}
      credentials:
        a: {path: {segment: "{value}", value: {env: TOKEN}}}
        b: {path: {segment: "bot{value}", value: {env: TOKEN}}}
      """#,
      [
        "3:53: error: upstreams[0].client_authorization must be replace: \(noText)",
        "4:53: error: upstreams[1].client_authorization must be replace: \(noText)",
      ]),
    Mistake(
      "origins in clear text, and hosts that share a secret",
      #"""
      upstreams:
        - {match: a, origin: "http://a", credential: a}
        - {match: "*.b", credential: b}
      credentials:
        a: {query: {name: key, value: {env: TOKEN}}}
        b: {path: {segment: "bot{value}", value: {env: TOKEN}}}
      """#,
      [
        "3:24: error: upstreams[0]: credential 'a' would go over http:// in the clear; say 'allow_plaintext: true' in it to allow this",
        "4:20: error: upstreams[1]: any host below '*.b' would get the credential; set 'origin', or say 'wildcard_credential: true'",
      ]),
  ]

  private static let noSegment = "is one segment of a path: letters, digits and -._~!$&'()*+,;=:@ around {value}"
  private static let noText = "segment of credential 'a' has no text by which an app's own could be told from other segments"
}
