extension Mistake {
  static let ofCaches: [Mistake] = [
    Mistake(
      "caches without a meaning",
      #"""
      upstreams:
        - {match: a, cache: on}
        - {match: b, cache: {share: everyone, collapse: some, client_directives: honor, max_objekt: 1MiB}}
        - {match: c, cache: {default_ttl: 1500ms, minimum_ttl: 10, stale_if_error: heuristic, stale_while_revalidate: 1y}}
        - {match: d, cache: {max_object: 0B, default_ttl: heuristics}}
        - {match: e, cache: }
      """#,
      [
        "3:23: error: upstreams[0].cache must be off, not 'on', or a section, of which {} is the one with all defaults",
        "4:31: error: upstreams[1].cache.share must be client, public, all or credential, not 'everyone'",
        "4:51: error: upstreams[1].cache.collapse must be storable, all or off, not 'some'",
        "4:76: error: upstreams[1].cache.client_directives must be honour or ignore, not 'honor' (did you mean "
          + "'honour'?)",
        "4:83: error: unknown key 'max_objekt' in upstreams[1].cache (did you mean 'max_object'?)",
        "5:37: error: upstreams[2].cache.default_ttl must be whole seconds, not '1500ms'; or heuristic",
        "5:58: error: upstreams[2].cache.minimum_ttl: '10' needs a unit: 30s, 5m, 12h or 90d",
        "5:78: error: upstreams[2].cache.stale_if_error: 'heuristic' must be a duration such as 30s, 5m, 12h or 90d",
        "5:113: error: upstreams[2].cache.stale_while_revalidate: '1y' has an unknown unit; there are 30s, 5m, 12h and "
          + "90d",
        "6:36: error: upstreams[3].cache.max_object must be from 1B to 1024GiB, not '0B'",
        "6:53: error: upstreams[3].cache.default_ttl: 'heuristics' must be a duration such as 30s, 5m, 12h or 90d; or "
          + "heuristic",
        "7:16: error: upstreams[4].cache has no value",
      ]),
    Mistake(
      "caches whose keys contradict one another",
      #"""
      upstreams:
        - {match: a, cache: {default_ttl: 10s, minimum_ttl: 11s}}
        - {match: b, cache: {collapse: all, share: public}}
        - {match: c, credential: key, client_authorization: keep, cache: {share: all}}
        - {match: d, cache: {share: credential}}
        - {match: e, cache: {max_object: 9MiB}}
        - {match: f, credential: user, cache: {}}
        - {match: g, credential: entra, cache: {share: all}}
      credentials:
        key: {header: {name: X-Api-Key, value: {env: TOKEN}}}
        user: {oauth2: {grant: token_exchange, token_url: "https://l/token", subject_token: client}}
        entra: {oauth2: {grant: jwt_bearer, token_url: "https://l/token", client_id: c, client_secret: {env: TOKEN}, assertion: client}}
      """#,
      [
        "3:37: error: upstreams[0].cache.default_ttl is less than 'minimum_ttl', which counts for every answer; leave "
          + "it out",
        "4:34: error: upstreams[1].cache.collapse cannot be all with 'share: public': an answer that says nothing "
          + "about caching is not said to be for everyone",
        "5:76: error: upstreams[2].cache.share cannot be all with 'client_authorization: keep': what an app gets with "
          + "its own login is its own",
        "6:31: error: upstreams[3].cache.share cannot be credential: the entry has neither 'credential' nor "
          + "'client_certificate', whose answers it would keep",
        "7:36: error: upstreams[4].cache.max_object must be at most 8MiB, an eighth of 'limits.cache'",
        "8:34: error: upstreams[5].cache: credential 'user' exchanges the token that the app sends, so each request is "
          + "a user's own; nothing of it can be stored",
        "9:35: error: upstreams[6].cache: credential 'entra' exchanges the token that the app sends, so each request "
          + "is a user's own; nothing of it can be stored",
      ]),
    Mistake(
      "a store without memory",
      #"""
      limits: {cache: 0B}
      upstreams:
        - {match: a, cache: {}}
        - {match: b, cache: off}
        - {match: c}
      """#,
      [
        "4:16: error: upstreams[0].cache needs memory, and limits.cache is 0B"
      ]),
    Mistake(
      "a store with little memory",
      #"""
      limits: {cache: 4MiB}
      upstreams:
        - {match: a, cache: {}}
        - {match: b, cache: {max_object: 513KiB}}
        - {match: c, cache: {max_object: 512KiB}}
      """#,
      [
        "4:16: error: upstreams[0].cache.max_object is 1MiB by default, and must be at most 512KiB, an eighth of "
          + "'limits.cache'",
        "5:36: error: upstreams[1].cache.max_object must be at most 512KiB, an eighth of 'limits.cache'",
      ]),
    Mistake(
      "fields that always count",
      #"""
      upstreams:
        - {match: a, credential: key, cache: {ignore_headers: [x-api-key, "X-*", "X-Api-Ke*", "X-Other-*"]}}
        - {match: b, cache: {ignore_headers: [host, "Ho*", Authorization, "auth*", Range, "R*", cache-control, "Cache-*"]}}
        - {match: c, cache: {ignore_headers: [If-None-Match, "If-*", "I*", if-anything, "a b", "*-Id", "", "X**"]}}
        - {match: d, cache: {ignore_headers: ["*", X-Id]}}
        - {match: e, credential: signed, cache: {ignore_headers: ["X-Amz-*"]}}
      credentials:
        key: {header: {name: X-Api-Key, value: {env: TOKEN}}}
        signed: {sigv4: {service: s3, region: r, access_key_id: A, secret_access_key: {env: TOKEN}}}
      """#,
      [
        "3:58: error: upstreams[0].cache.ignore_headers[0]: 'x-api-key' is written by credential 'key', whose answers "
          + "are its own",
        "3:69: error: upstreams[0].cache.ignore_headers[1]: 'X-*' covers 'X-Api-Key', which is written by credential "
          + "'key', whose answers are its own",
        "3:76: error: upstreams[0].cache.ignore_headers[2]: 'X-Api-Ke*' covers 'X-Api-Key', which is written by "
          + "credential 'key', whose answers are its own",
        "4:41: error: upstreams[1].cache.ignore_headers[0]: 'host' says which host is asked",
        "4:47: error: upstreams[1].cache.ignore_headers[1]: 'Ho*' covers 'Host', which says which host is asked",
        "4:54: error: upstreams[1].cache.ignore_headers[2]: 'Authorization' says who asks",
        "4:69: error: upstreams[1].cache.ignore_headers[3]: 'auth*' covers 'Authorization', which says who asks",
        "4:78: error: upstreams[1].cache.ignore_headers[4]: 'Range' is obeyed by the store itself",
        "4:85: error: upstreams[1].cache.ignore_headers[5]: 'R*' covers 'Range', which is obeyed by the store itself",
        "4:91: error: upstreams[1].cache.ignore_headers[6]: 'cache-control' is obeyed by the store itself",
        "4:106: error: upstreams[1].cache.ignore_headers[7]: 'Cache-*' covers 'Cache-Control', which is obeyed by the store itself",
        "5:41: error: upstreams[2].cache.ignore_headers[0]: 'If-None-Match' is a condition, and the store itself obeys "
          + "those",
        "5:56: error: upstreams[2].cache.ignore_headers[1]: 'If-*' is a condition, and the store itself obeys those",
        "5:64: error: upstreams[2].cache.ignore_headers[2]: 'I*' covers 'If-Match', which is a condition, and the "
          + "store itself obeys those",
        "5:70: error: upstreams[2].cache.ignore_headers[3]: 'if-anything' is a condition, and the store itself obeys "
          + "those",
        "5:83: error: upstreams[2].cache.ignore_headers[4] must be an HTTP field name, which may end in *, not 'a b'",
        "5:90: error: upstreams[2].cache.ignore_headers[5] must be an HTTP field name, which may end in *, not '*-Id'",
        "5:98: error: upstreams[2].cache.ignore_headers[6] must be a text, not an empty one",
        "5:102: error: upstreams[2].cache.ignore_headers[7] must be an HTTP field name, which may end in *, not 'X**'",
        "6:46: error: upstreams[3].cache.ignore_headers[1]: 'X-Id' has no effect beside '*', which means all fields",
        "7:61: error: upstreams[4].cache.ignore_headers[0]: 'X-Amz-*' covers 'X-Amz-Date', which is written by "
          + "credential 'signed', whose answers are its own",
      ]),
  ]

  static let ofOddCaches: [Mistake] = [
    Mistake(
      "a shared store that tells no users apart",
      #"""
      upstreams:
        - {match: a, cache: {share: all, ignore_headers: ["*"]}}
        - {match: b, cache: {share: public, ignore_headers: [cookie]}}
        - {match: c, credential: key, cache: {share: credential, ignore_headers: ["Coo*"]}}
        - {match: d, cache: {ignore_headers: [Cookie, X-Id]}}
      credentials:
        key: {header: {name: X-Api-Key, value: {env: TOKEN}}}
      """#,
      [
        "3:53: warning: upstreams[0].cache.ignore_headers[0]: one answer serves several clients, and '*' lets no field "
          + "of a request tell users apart unless the API lists it in Vary",
        "4:56: warning: upstreams[1].cache.ignore_headers[0]: one answer serves several clients, and without Cookie one "
          + "user's answer may serve another",
        "5:77: warning: upstreams[2].cache.ignore_headers[0]: one answer serves several clients, and without Cookie one "
          + "user's answer may serve another",
      ]),
    Mistake(
      "a store of what anybody may have said",
      #"""
      upstreams:
        - {match: a, trust: lab, cache: {}}
        - {match: b, trust: lab}
        - {match: c, origin: "http://c", cache: {}}
      trust: {lab: [{disabled: {}}]}
      """#,
      [
        "3:28: warning: upstreams[0].cache: trust 'lab' is disabled, so whoever answers once in the origin's place is "
          + "read from the store as long as the answer lasts",
        "6:16: warning: trust.lab is disabled: it trusts every server",
      ]),
  ]
}
