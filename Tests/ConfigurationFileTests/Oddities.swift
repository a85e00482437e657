extension Mistake {
  /// Accepted, with a warning.
  static let worthAWarning: [Mistake] = [
    Mistake(
      "nothing that could be reached",
      "",
      [
        "1:1: warning: there are no 'upstreams', and no other host is allowed: the proxy will refuse every request"
      ]),
    Mistake(
      "a credential that nobody uses",
      #"""
      upstreams: [{match: h}]
      credentials:
        a: {bearer: {token: {env: TOKEN}}}
      """#,
      [
        "4:3: warning: credentials.a is used by no upstream"
      ]),
    Mistake(
      "a long-term AWS key",
      #"""
      upstreams: [{match: h, credential: a}]
      credentials:
        a: {sigv4: {access_key_id: AKIAIOSFODNN7EXAMPLE, secret_access_key: {env: TOKEN}}}
      """#,
      [
        "4:30: warning: credentials.a.sigv4.access_key_id is a long-term key of a user; temporary keys from 'source' are worth less to a thief"
      ]),
    Mistake(
      "a policy that nobody uses",
      #"""
      upstreams: [{match: h}]
      trust:
        a: [{default: {}}]
      """#,
      [
        "4:3: warning: trust.a is not used"
      ]),
    Mistake(
      "a disabled policy",
      #"""
      upstreams: [{match: h, trust: lab}]
      trust:
        lab: [{disabled: {}}]
      """#,
      [
        "4:10: warning: trust.lab is disabled: it trusts every server"
      ]),
    Mistake(
      "a disabled policy, written short",
      #"""
      upstreams: [{match: h, trust: lab}]
      trust:
        lab:
          - disabled:
      """#,
      [
        "5:7: warning: trust.lab is disabled: it trusts every server"
      ]),
    Mistake(
      "one pin only",
      #"""
      upstreams: [{match: h, trust: a}]
      trust:
        a: [{pinned_public_keys: {certificates: [cert.pem]}}, {pinned_certificates: {certificates: [cert.pem, cert.pem]}}]
      """#,
      [
        "4:8: warning: trust.a[0].pinned_public_keys has only one pin; add a backup pin, or every request "
          + "fails when the key is lost",
        "4:58: warning: trust.a[1].pinned_certificates has only one pin; add a backup pin, or every request "
          + "fails when the certificate is renewed",
      ]),
    Mistake(
      "a pin twice",
      #"""
      upstreams: [{match: h, trust: a}]
      trust:
        a:
          - pinned_public_keys:
              pins: [sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=, sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=]
              certificates: [cert.pem]
      """#,
      [
        "6:69: warning: trust.a[0].pinned_public_keys.pins[1] is already in this list"
      ]),
    Mistake(
      "pins that have expired",
      #"""
      upstreams: [{match: h, trust: a}]
      trust:
        a: [{pinned_public_keys: {certificates: [cert.pem, next.pem], expires: 2020-01-01}}]
      """#,
      [
        "4:74: warning: trust.a[0].pinned_public_keys.expires has passed: these pins are no longer enforced"
      ]),
    Mistake(
      "a refresh token in memory",
      #"""
      upstreams: [{match: h, credential: a}]
      credentials:
        a:
          oauth2: {grant: refresh_token, token_url: https://l/t, client_id: c, refresh_token: {env: TOKEN}}
      """#,
      [
        "5:21: warning: credentials.a.oauth2: a rotated refresh token is lost on restart while 'token_store' is "
          + "memory"
      ]),
    Mistake(
      "a passphrase without need",
      #"""
      upstreams:
        - match: h
          client_certificate: {certificate: cert.pem, key: {file: key.pem}, passphrase: {env: TOKEN}}
      """#,
      [
        "4:71: warning: upstreams[0].client_certificate.passphrase has no effect: the key is not encrypted"
      ]),
    Mistake(
      "options of a credential that is not there",
      #"""
      upstreams:
        - match: h
          client_authorization: keep
          wildcard_credential: true
      """#,
      [
        "4:5: warning: upstreams[0].client_authorization has no effect: there is no 'credential'",
        "5:5: warning: upstreams[0].wildcard_credential has no effect: there is no 'credential'",
      ]),
    Mistake(
      "wildcard_credential without a wildcard",
      #"""
      upstreams:
        - {match: h, credential: a, wildcard_credential: true}
      credentials:
        a: {bearer: {token: {env: TOKEN}}}
      """#,
      [
        "3:31: warning: upstreams[0].wildcard_credential has no effect: 'match' is not a wildcard"
      ]),
    Mistake(
      "allow of what cannot be reached",
      #"""
      upstreams: [{match: api.example.com}]
      clients:
        - {name: a, from: [10.0.0.0/8], allow: [api.exmple.com]}
      """#,
      [
        "4:43: warning: clients[0].allow[0] allows nothing: no upstream is named 'api.exmple.com' (did you mean "
          + "'api.example.com'?), unlisted hosts are denied, and no tunnel may go there"
      ]),
    Mistake(
      "anonymous without effect",
      #"""
      upstreams: [{match: h}]
      clients:
        - {name: a, from: [10.0.0.0/8]}
      anonymous: {allow: [h]}
      """#,
      [
        "5:1: warning: anonymous has no effect: every listener requires clients"
      ]),
  ]
}
