extension Mistake {
  /// `intercept`, https:// matches, `listen[].tls` and `clients[].certificate`.
  static let ofInterception: [Mistake] = [
    Mistake(
      "an https:// match without intercept",
      #"""
      upstreams:
        - match: [a.example.com, https://a.example.com]
      """#,
      [
        "3:28: error: upstreams[0].match[1] is https://, for which 'intercept' is missing: it says who signs"
      ]),
    Mistake(
      "other schemes, and scheme without a host",
      #"""
      intercept: {ca: {generate: ca2}}
      upstreams:
        - match: ftp://a.example.com
        - match: [https://http://b.example.com, "https://", "https://*"]
        - match: []
      """#,
      [
        "4:12: error: upstreams[0].match must be [https://]host[:port][/path]; for http:// URLs it has no scheme, and "
          + "there are no others",
        "5:13: error: upstreams[1].match[0] must be [https://]host[:port][/path]; for http:// URLs it has no scheme, "
          + "and there are no others",
        "5:43: error: upstreams[1].match[1] has no host",
        "5:55: error: upstreams[1].match[2] must name a host; 'unlisted_hosts' is for all other hosts",
        "6:12: error: upstreams[2].match is empty",
      ]),
    Mistake(
      "two equal https:// matches, also within one entry",
      #"""
      intercept: {ca: {generate: ca2}}
      upstreams:
        - {name: a, match: [https://a.example.com, a.example.com]}
        - {name: b, match: "HTTPS://A.example.com:443/"}
        - {name: c, match: [c.example.com, c.example.com]}
      """#,
      [
        "5:22: error: upstreams[1]: the same match for the same clients is at 4:23",
        "6:38: error: upstreams[2]: the same match for the same clients is at 6:23",
      ]),
    Mistake(
      "matches that lead to different origins",
      #"""
      intercept: {ca: {generate: ca2}}
      upstreams:
        - match: [a.example.com, b.example.com]
        - match: [c.example.com, https://c.example.com:8443]
        - match: ["*.d.example.com", d.example.com]
      """#,
      [
        "4:12: error: upstreams[0].match lists matches that would go to different origins; write 'origin' out",
        "5:12: error: upstreams[1].match lists matches that would go to different origins; write 'origin' out",
        "6:12: error: upstreams[2].match lists matches that would go to different origins; write 'origin' out",
      ]),
    Mistake(
      "cookies without Secure for an app that asks for https://",
      #"""
      intercept: {ca: {generate: ca2}}
      upstreams:
        - match: [a.example.com, https://a.example.com]
          rewrite: {secure_cookies: true}
      """#,
      [
        "5:14: error: upstreams[0].rewrite: 'secure_cookies: true' is for http apps, and the match at 4:28 is https://"
      ]),
    Mistake(
      "a tunnel that is an https:// match",
      #"""
      intercept: {ca: {generate: ca2}}
      connect: {allow: ["a.example.com:443", "a.example.com", "*.example.com:443", "*.example.com"]}
      upstreams:
        - match: https://a.example.com
        - match: https://*.example.com
      """#,
      [
        "3:19: error: connect.allow[0]: 'a.example.com:443' is the https:// match at 5:12: it cannot be a tunnel and "
          + "intercepted",
        "3:57: error: connect.allow[2]: '*.example.com:443' is the https:// match at 6:12: it cannot be a tunnel and "
          + "intercepted",
      ]),
    Mistake(
      "hosts that no CA permits",
      #"""
      intercept:
        ca:
          - {certificate: one/issuer.pem, key: {file: one/issuer.key}}
          - {certificate: ca/issuer.pem, key: {file: ca/issuer.key}, passphrase: {env: TOKEN}}
      upstreams:
        - match: https://one.example
        - match: https://*.example.com
        - match: [https://two.example, "https://192.0.2.8"]
          origin: https://two.example
        - match: https://*.example
      """#,
      [
        "9:13: error: upstreams[2].match[0]: no CA of intercept.ca may sign for 'two.example': make one with authproxy "
          + "ca create --permit 'two.example' --out FOLDER, and add it to intercept.ca",
        "9:34: error: upstreams[2].match[1]: no CA of intercept.ca may sign for '192.0.2.8': make one with authproxy "
          + "ca create --permit '192.0.2.8' --out FOLDER, and add it to intercept.ca",
        "11:12: error: upstreams[3].match: no CA of intercept.ca may sign for '*.example': make one with authproxy ca "
          + "create --permit '*.example' --out FOLDER, and add it to intercept.ca",
      ]),
    Mistake(
      "certificates that are no CA",
      #"""
      intercept:
        ca:
          - {certificate: self/leaf.pem, key: {file: self/issuer.key}}
          - {certificate: self/sha1.pem, key: {file: self/issuer.key}}
          - {certificate: self/weak.pem, key: {file: self/weak.key}}
          - {certificate: self/ended.pem, key: {file: self/issuer.key}}
          - {certificate: self/alone.pem, key: {file: self/below.key}}
          - {certificate: one/issuer.pem, key: {file: one/other.key}}
          - {certificate: open/issuer.pem, key: {file: open/issuer.key}}
          - {certificate: one/issuer.pem, key: {file: one/open-to-others.key}}
          - {certificate: nothing.pem, key: {file: one/issuer.key}}
          - {certificate: one/issuer.key, key: {file: mangled.pem}}
      upstreams:
        - match: https://one.example
      """#,
      [
        "4:21: error: intercept.ca[0].certificate: /etc/authproxy/self/leaf.pem: CN=Sample is no CA by its basic constraints",
        "5:21: error: intercept.ca[1].certificate: /etc/authproxy/self/sha1.pem: CN=Sample is signed with SHA-1",
        "6:21: error: intercept.ca[2].certificate: /etc/authproxy/self/weak.pem: CN=Weak has a key of 1024 bits; it "
          + "needs 2048 for RSA, 256 for EC",
        "7:21: error: intercept.ca[3].certificate: /etc/authproxy/self/ended.pem: CN=Sample expired on 2023-11-14",
        "8:21: error: intercept.ca[4].certificate: /etc/authproxy/self/alone.pem: CN=Below is the last certificate and "
          + "not self-signed; the root goes last",
        "9:42: error: intercept.ca[5].key does not belong to the first certificate of /etc/authproxy/one/issuer.pem",
        "10:21: error: intercept.ca[6].certificate: /etc/authproxy/open/issuer.pem may sign for any name: neither its "
          + "signing certificate nor one above has critical name constraints for DNS names; say 'allow_unconstrained: true' if it may",
        "11:42: error: intercept.ca[7].key: /etc/authproxy/one/open-to-others.key gives rights to others; chmod o-rwx it",
        "12:21: error: intercept.ca[8].certificate: /etc/authproxy/nothing.pem: No such file or directory",
        "13:21: error: intercept.ca[9].certificate: /etc/authproxy/one/issuer.key contains no certificate",
        "13:42: error: intercept.ca[9].key is not a readable private key",
      ]),
    Mistake(
      "a CA by halves",
      #"""
      intercept:
        ca:
          - {certificate: one/issuer.pem}
          - {key: {file: one/issuer.key}}
          - {}
      upstreams:
        - match: https://one.example
      """#,
      [
        "4:7: error: intercept.ca[0] needs 'key'",
        "5:7: error: intercept.ca[1] needs 'certificate'",
        "6:7: error: intercept.ca[2] needs 'certificate'",
        "6:7: error: intercept.ca[2] needs 'key'",
      ]),
    Mistake(
      "memory and generate in a list, and beside other keys",
      #"""
      intercept:
        ca: [memory, {generate: ca2}, {generate: ca3, key: {file: key.pem}}]
        publish: /run/ca
      """#,
      [
        "3:8: error: intercept.ca[0] must stand alone, not in a list: memory makes what it needs",
        "3:27: error: intercept.ca[1].generate must stand alone, not in a list: the folder is a list",
        "3:44: error: intercept.ca[2].generate must stand alone, not in a list: the folder is a list",
        "3:49: error: intercept.ca[2].key has no meaning beside 'generate'",
      ]),
    Mistake(
      "a whole top-level domain for a CA that the proxy makes",
      #"""
      intercept: {ca: {generate: ca2}}
      upstreams:
        - {match: ["https://*.internal", "https://intranet"], origin: https://internal}
        - {match: ["https://*.intranet"], origin: https://internal}
      """#,
      [
        "4:14: error: upstreams[0].match[0]: no CA is made for '*.internal', a whole top-level domain; bring one of your own"
      ]),
    Mistake(
      "memory without publish", "intercept: {ca: memory}",
      [
        "2:17: error: intercept.ca is memory and wants 'publish': nobody could trust what no file holds"
      ]),
    Mistake(
      "no CA at all", "intercept: {ca: []}",
      [
        "2:17: error: intercept.ca is empty: nobody could sign"
      ]),
    Mistake(
      "a CA that is another word", "intercept: {ca: disk}",
      [
        "2:17: error: intercept.ca must be a CA with 'certificate' and 'key', {generate: ...} or memory, not 'disk'"
      ]),
    Mistake(
      "intercept without ca", "intercept: {publish: /run/ca}",
      [
        "2:1: error: intercept needs 'ca'"
      ]),
    Mistake(
      "limits of intercept",
      #"""
      intercept:
        ca: {generate: ca2}
        leaf_lifetime: 59m
        leaf_cache: 0
        min_version: tls1.1
      timeouts: {handshake: 0s}
      """#,
      [
        "4:18: error: intercept.leaf_lifetime must be from 1h to 720h, not '59m'",
        "5:15: error: intercept.leaf_cache must be from 1 to 1000000, not '0'",
        "6:16: error: intercept.min_version must be tls1.2 or tls1.3, not 'tls1.1' (did you mean 'tls1.2'?)",
        "7:23: error: timeouts.handshake must be at least 1ms, not '0s'",
      ]),
    Mistake(
      "a leaf that lives too long", "intercept: {ca: {generate: ca2}, leaf_lifetime: 721h}",
      [
        "2:49: error: intercept.leaf_lifetime must be from 1h to 720h, not '721h'"
      ]),
    Mistake(
      "publish where a key is",
      #"""
      intercept:
        ca: {certificate: one/issuer.pem, key: {file: one/issuer.key}}
        publish: one/
      upstreams:
        - match: https://one.example
      """#,
      [
        "4:12: error: intercept.publish is the folder of /etc/authproxy/one/issuer.key, which intercept.ca.key names: "
          + "apps could read it"
      ]),
    Mistake(
      "publish where keys are to be made",
      #"""
      intercept: {ca: {generate: ca2}, publish: ./ca2}
      upstreams: [{match: "https://one.example"}]
      """#,
      [
        "2:43: error: intercept.publish is the folder of /etc/authproxy/ca2/issuer.key, which intercept.ca.generate "
          + "names: apps could read it"
      ]),
    Mistake(
      "certificates of clients that nobody verifies, or that say nothing",
      #"""
      clients:
        - {name: a, certificate: {uri: "spiffe://example.com/a"}}
        - {name: b, certificate: {uri: "spiffe://example.com/b", dns: b.internal}}
        - {name: c, certificate: {}}
        - {name: d, certificate: {uri: d}}
        - {name: e, certificate: {dns: "*.example.com"}}
        - {name: f, certificate: {pin: "sha256/AAAA"}}
        - {name: g, certificate: {cn: g}}
      """#,
      [
        "3:15: error: clients[0].certificate needs a listener with 'tls.client_certificates': none verifies certificates",
        "4:15: error: clients[1].certificate must have one of 'uri', 'dns' and 'pin'",
        "5:15: error: clients[2].certificate must have one of 'uri', 'dns' and 'pin'",
        "6:34: error: clients[3].certificate.uri must be a URI such as spiffe://example.com/billing, not 'd'",
        "7:34: error: clients[4].certificate.dns: '*.example.com' has a host with characters that hosts cannot have",
        "8:34: error: clients[5].certificate.pin has 3 bytes; a SHA-256 has 32",
        "9:15: error: clients[6].certificate must have one of 'uri', 'dns' and 'pin'",
        "9:29: error: unknown key 'cn' in clients[6].certificate",
      ]),
  ]

  /// `listen[].tls`.
  static let ofTLSListeners: [Mistake] = [
    Mistake(
      "TLS listeners by halves, or both ways",
      #"""
      listen:
        - {address: "127.0.0.1:1", tls: {certificate: cert.pem}}
        - {address: "127.0.0.1:2", tls: {key: {file: key.pem}}}
        - {address: "127.0.0.1:3", tls: {}}
        - {address: "127.0.0.1:4", tls: {certificate: cert.pem, key: {file: key.pem}, names: [a.example.com]}}
        - {address: "127.0.0.1:5", tls: {certificate: next.pem, key: {file: key.pem}}}
        - {address: "127.0.0.1:6", tls: {names: []}}
        - {address: "127.0.0.1:7", tls: {names: ["*.example.com", "a:443"]}}
        - {address: "127.0.0.1:8", tls: {names: [a.example.com], client_certificates: {required: true}}}
        - {address: "127.0.0.1:9", tls: {names: [a.example.com]}}
      """#,
      [
        "2:30: error: listen[0].tls needs 'key' beside 'certificate'",
        "3:30: error: listen[1].tls needs 'certificate' beside 'key'",
        "4:30: error: listen[2].tls needs 'certificate' and 'key', or 'names'",
        "5:36: error: listen[3].tls.certificate has no meaning beside 'names', for which a CA signs",
        "5:59: error: listen[3].tls.key has no meaning beside 'names', for which a CA signs",
        "5:88: error: listen[3].tls.names needs 'intercept': one of its CAs signs for them",
        "6:64: error: listen[4].tls.key does not belong to the first certificate of /etc/authproxy/next.pem",
        "7:43: error: listen[5].tls.names is empty",
        "8:44: error: listen[6].tls.names[0]: '*.example.com' has a host with characters that hosts cannot have",
        "8:61: error: listen[6].tls.names[1]: 'a:443' has a host with characters that hosts cannot have",
        "9:60: error: listen[7].tls.client_certificates needs 'ca_file'",
        "10:43: error: listen[8].tls.names needs 'intercept': one of its CAs signs for them",
      ]),
    Mistake(
      "names that no CA permits together",
      #"""
      intercept:
        ca:
          - {certificate: one/issuer.pem, key: {file: one/issuer.key}}
          - {certificate: ca/issuer.pem, key: {file: ca/issuer.key}, passphrase: {env: TOKEN}}
      listen:
        - {address: "127.0.0.1:1", tls: {names: [proxy.example.com, 192.0.2.7]}}
        - {address: "127.0.0.1:2", tls: {names: [one.example, proxy.example.com]}}
      """#,
      [
        "7:43: error: listen[1].tls.names: no CA of intercept.ca may sign for 'one.example' and 'proxy.example.com' "
          + "together: make one with authproxy ca create --permit 'one.example' --permit 'proxy.example.com' --out FOLDER, and add it to intercept.ca"
      ]),
    Mistake(
      "one certificate for two clients",
      #"""
      listen: {address: "127.0.0.1:1", tls: {certificate: cert.pem, key: {file: key.pem}, client_certificates: {ca_file: next.pem}}}
      clients:
        - {name: a, certificate: {dns: a.internal}}
        - {name: b, certificate: {dns: A.internal.}}
      """#,
      [
        "4:28: error: clients[1].certificate: the same stands at 3:28; whose is it?"
      ]),
  ]

  /// What works, and deserves a second look.
  static let ofOddInterception: [Mistake] = [
    Mistake(
      "intercept without https:// matches", "intercept: {ca: {generate: ca2}}\nupstreams: [{match: h}]",
      [
        "2:1: warning: intercept has no effect: no match says https://, and no listener has 'tls.names'"
      ]),
    Mistake(
      "memory",
      #"""
      intercept: {ca: memory, publish: /run/ca}
      upstreams: [{match: "https://one.example"}]
      """#,
      [
        "2:17: warning: intercept.ca is memory: after each start apps need the published files again; it is for demos"
      ]),
    Mistake(
      "a CA whose root alone is bound",
      #"""
      intercept:
        ca: {certificate: self/below.pem, key: {file: self/below.key}}
      upstreams: [{match: "https://a.example.com"}]
      """#,
      [
        "3:21: warning: intercept.ca.certificate: /etc/authproxy/self/below.pem has name constraints on its root "
          + "alone, which Java ignores"
      ]),
    Mistake(
      "a folder that is filled where it must be",
      #"""
      intercept: {ca: {generate: folder}}
      upstreams: [{match: "https://four.example"}]
      """#,
      [
        "2:28: warning: intercept.ca.generate: /etc/authproxy/folder/issuer-2.pem expired on 1970-01-02 and signs nothing"
      ]),
  ]
}
