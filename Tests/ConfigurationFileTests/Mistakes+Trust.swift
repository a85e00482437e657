extension Mistake {
  /// Trust policies.
  static let ofTrust: [Mistake] = [
    Mistake(
      "an empty policy",
      #"""
      trust:
        a: []
      """#,
      [
        "3:6: error: trust.a is empty: it would check nothing"
      ]),
    Mistake(
      "an evaluator that is none",
      #"""
      trust:
        a: [{defalt: {}}]
        b: [{}]
        c: [{default: {}, disabled: {}}]
        d: [default]
      """#,
      [
        "3:8: error: unknown key 'defalt' in trust.a[0] (did you mean 'default'?)",
        "4:7: error: trust.b[0] must have one evaluator: default, pinned_public_keys, pinned_certificates, "
          + "revocation, composite, disabled",
        "5:7: error: trust.c[0] must have one evaluator: default, pinned_public_keys, pinned_certificates, "
          + "revocation, composite, disabled",
        "6:7: error: trust.d[0] must be a mapping, not a text",
      ]),
    Mistake(
      "disabled beside others",
      #"""
      trust:
        a: [{default: {}}, {disabled: {}}]
        b: [{composite: [{disabled: {}}]}]
      """#,
      [
        "3:23: error: trust.a: 'disabled' must be the only evaluator of a policy",
        "4:21: error: trust.b: 'disabled' must be the only evaluator of a policy",
      ]),
    Mistake(
      "two defaults",
      #"""
      trust:
        a:
          - default: {}
          - composite: [{default: {}}]
      """#,
      [
        "5:20: error: trust.a[1].composite[0].default: a policy has at most one 'default'; the first is at 4:7"
      ]),
    Mistake(
      "no root left",
      #"""
      trust:
        a: [{default: {system_roots: false}}]
      """#,
      [
        "3:32: error: trust.a: the policy trusts no root: 'system_roots' is false and there is no 'ca_file'"
      ]),
    Mistake(
      "a CA file that is missing",
      #"""
      trust:
        a: [{default: {ca_file: none.pem}}]
      """#,
      [
        "3:27: error: trust.a[0].default.ca_file: /etc/authproxy/none.pem: No such file or directory"
      ]),
    Mistake(
      "CA files that hold no certificate",
      #"""
      trust:
        a: [{default: {ca_file: key.pem}}]
        b: [{default: {ca_file: broken.pem}}]
        c: [{default: {ca_file: fake.pem}}]
        d: [{default: {ca_file: crl.pem}}]
        e: [{default: {ca_file: half.pem}}]
      """#,
      [
        "3:27: error: trust.a[0].default.ca_file: /etc/authproxy/key.pem contains no certificate",
        "4:27: error: trust.b[0].default.ca_file: /etc/authproxy/broken.pem contains a PEM block that is not base64",
        "5:27: error: trust.c[0].default.ca_file: /etc/authproxy/fake.pem contains data that is not an X.509 certificate",
        "6:27: error: trust.d[0].default.ca_file: /etc/authproxy/crl.pem contains no certificate",
        "7:27: error: trust.e[0].default.ca_file: /etc/authproxy/half.pem contains a PEM block without an end",
      ]),
    Mistake(
      "an unknown TLS version",
      #"""
      trust:
        a: [{default: {min_version: tls1.1}}]
      """#,
      [
        "3:31: error: trust.a[0].default.min_version must be tls1.2 or tls1.3, not 'tls1.1' (did you mean 'tls1.2'?)"
      ]),
    Mistake(
      "pins that are none",
      #"""
      trust:
        a:
          - pinned_public_keys:
              pins: [sha1/AAAA, "sha256/AAAA", sha256/!!, md5/x]
      """#,
      [
        "5:16: error: trust.a[0].pinned_public_keys.pins[0]: SHA-1 pins are not accepted; use sha256/",
        "5:27: error: trust.a[0].pinned_public_keys.pins[1] has 3 bytes; a SHA-256 has 32",
        "5:42: error: trust.a[0].pinned_public_keys.pins[2] must be sha256/ and base64",
        "5:53: error: trust.a[0].pinned_public_keys.pins[3] must start with sha256/",
      ]),
    Mistake(
      "an empty pin set",
      #"""
      trust:
        a: [{pinned_public_keys: {pins: []}}]
        b: [{pinned_certificates: {certificates: []}}]
        c: [{pinned_public_keys: {}}]
      """#,
      [
        "3:8: error: trust.a[0].pinned_public_keys has no pin: give 'pins', 'certificates' or both",
        "4:8: error: trust.b[0].pinned_certificates has no pin: give 'certificates'",
        "5:8: error: trust.c[0].pinned_public_keys has no pin: give 'pins', 'certificates' or both",
      ]),
    Mistake(
      "an expiry that is no day",
      #"""
      trust:
        a: [{pinned_public_keys: {certificates: [cert.pem, next.pem], expires: 2027-02-29}}]
      """#,
      [
        "3:74: error: trust.a[0].pinned_public_keys.expires must be a day such as 2027-06-01, or a time such as "
          + "2027-06-01T12:00:00Z, not '2027-02-29'"
      ]),
    Mistake(
      "pins that prove nothing",
      #"""
      trust:
        a: [{pinned_public_keys: {certificates: [cert.pem, next.pem], validate_chain: false, enforce: false}}]
        b: [{pinned_public_keys: {certificates: [cert.pem, next.pem], validate_chain: false, expires: 2090-01-01}}]
      """#,
      [
        "3:8: error: trust.a[0].pinned_public_keys with 'validate_chain: false' and 'enforce: false' proves "
          + "nothing; another evaluator must validate the chain",
        "4:8: error: trust.b[0].pinned_public_keys with 'validate_chain: false' would prove nothing once "
          + "'expires' has passed; another evaluator must validate the chain",
      ]),
    Mistake(
      "self-signed contradictions",
      #"""
      trust:
        a:
          - default: {ca_file: cert.pem}
          - pinned_certificates: {certificates: [cert.pem], accept_self_signed: true}
        b:
          - pinned_certificates: {certificates: [cert.pem], accept_self_signed: true, validate_chain: false}
        c:
          - pinned_certificates: {certificates: [cert.pem], accept_self_signed: true}
          - pinned_certificates: {certificates: [cert.pem], accept_self_signed: true}
      """#,
      [
        "5:75: error: trust.a: 'accept_self_signed' makes the pinned certificates the only anchors; 'ca_file' "
          + "and 'system_roots' would add others",
        "7:97: error: trust.b[0].pinned_certificates: 'accept_self_signed' needs chain validation, which "
          + "'validate_chain: false' switches off",
        "10:75: error: trust.c: 'accept_self_signed' is set twice; a policy has one set of anchors",
      ]),
    Mistake(
      "revocation without a chain",
      #"""
      trust:
        a: [{revocation: {validate_chain: false}}]
      """#,
      [
        "3:37: error: trust.a[0].revocation: 'validate_chain: false' needs another evaluator of the policy that "
          + "validates the chain"
      ]),
    Mistake(
      "revocation contradictions",
      #"""
      trust:
        a: [{revocation: {methods: [ocps, crl, crl]}}]
        b: [{revocation: {methods: []}}]
        c: [{revocation: {methods: [crl], responder: http://o/}}]
        d: [{revocation: {network: false, responder: http://o/}}]
        e: [{revocation: {methods: [ocsp], crl_files: [crl.pem]}}]
        f: [{revocation: {crl_files: [cert.pem]}}]
        g: [{revocation: {responder: ldap://o, check: all, timeout: 3}}]
      """#,
      [
        "3:31: error: trust.a[0].revocation.methods[0] must be ocsp or crl, not 'ocps' (did you mean 'ocsp'?)",
        "3:42: error: trust.a[0].revocation.methods[2] is already in this list",
        "4:30: error: trust.b[0].revocation.methods is empty: give ocsp, crl or both",
        "5:48: error: trust.c[0].revocation.responder contradicts 'methods', which does not list ocsp",
        "6:48: error: trust.d[0].revocation.responder contradicts 'network: false'",
        "7:38: error: trust.e[0].revocation.crl_files contradicts 'methods', which does not list crl",
        "8:33: error: trust.f[0].revocation.crl_files[0]: /etc/authproxy/cert.pem contains no CRL",
        "9:32: error: trust.g[0].revocation.responder must start with https:// or http://",
        "9:49: error: trust.g[0].revocation.check must be chain or leaf, not 'all'",
        "9:63: error: trust.g[0].revocation.timeout: '3' needs a unit: 250ms, 30s, 5m or 1h",
      ]),
  ]
}
