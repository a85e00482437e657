extension Mistake {
  /// `http_version`.
  static let ofHTTPVersions: [Mistake] = [
    Mistake(
      "other versions",
      #"""
      upstreams:
        - {match: a, http_version: 1}
        - {match: b, http_version: 2.0}
        - {match: c, http_version: h2}
        - {match: d, http_version: HTTP/1.1}
        - {match: e, http_version: Auto}
        - {match: f, http_version: 3}
        - {match: g, http_version: [1.1, 2]}
        - {match: h, http_version: }
        - {match: i, http_versions: 2}
        - {match: j, http_version: always}
      """#,
      [
        "3:30: error: upstreams[0].http_version must be 1.1, auto or 2, not '1' (did you mean '1.1'?)",
        "4:30: error: upstreams[1].http_version must be 1.1, auto or 2, not '2.0' (did you mean '2'?)",
        "5:30: error: upstreams[2].http_version must be 1.1, auto or 2, not 'h2' (did you mean '2'?)",
        "6:30: error: upstreams[3].http_version must be 1.1, auto or 2, not 'HTTP/1.1' (did you mean '1.1'?)",
        "7:30: error: upstreams[4].http_version must be 1.1, auto or 2, not 'Auto' (did you mean 'auto'?)",
        "8:30: error: upstreams[5].http_version must be 1.1, auto or 2, not '3'",
        "9:30: error: upstreams[6].http_version must be a text, not a list",
        "10:16: error: upstreams[7].http_version has no value",
        "11:16: error: unknown key 'http_versions' in upstreams[8] (did you mean 'http_version'?)",
        "12:30: error: upstreams[9].http_version must be 1.1, auto or 2, not 'always'",
      ]),
    Mistake(
      "HTTP/2 where no connection can have it",
      #"""
      upstreams:
        - {match: a, origin: http://a, http_version: 2}
        - {match: b, origin: unix:/run/b.sock, http_version: "2"}
        - {match: c, origin: ["http://c1", "http://c2:8080"], http_version: 2}
        - {match: "*.d", origin: http://d, http_version: 2}
        - {match: e, credential: n, http_version: 2}
        - {match: f, credential: n, http_version: auto}
        - {match: g, origin: http://g, http_version: auto}
        - {match: h, origin: unix:/run/h.sock, http_version: 1.1}
        - {match: [i, i2], origin: ["https://i1", "https://i2"], http_version: 2}
        - {match: "*.j", http_version: 2}
      credentials:
        n: {negotiate: {keytab: k}}
      """#,
      [
        "3:48: error: upstreams[0].http_version cannot be 2: the origin is http://, and HTTP/2 without TLS is not spoken; say "
          + "'http_version: 1.1' or leave it out",
        "4:56: error: upstreams[1].http_version cannot be 2: the origin is a unix socket, and HTTP/2 without TLS is not spoken; say "
          + "'http_version: 1.1' or leave it out",
        "5:71: error: upstreams[2].http_version cannot be 2: the origin is http://, and HTTP/2 without TLS is not spoken; say "
          + "'http_version: 1.1' or leave it out",
        "6:52: error: upstreams[3].http_version cannot be 2: the origin is http://, and HTTP/2 without TLS is not spoken; say "
          + "'http_version: 1.1' or leave it out",
        "7:45: error: upstreams[4].http_version cannot be 2: credential 'n' authenticates connections, and HTTP/2 has no such "
          + "credential; say 'http_version: 1.1' or leave it out",
      ]),
  ]
}
