extension Mistake {
  /// Ways out: `via`, `routes`, `parents`, `hosts`, `bind` and `address_family`.
  static let ofWays: [Mistake] = [
    Mistake(
      "names that mean something already",
      #"""
      parents:
        direct: {url: "http://p:1"}
        environment: {url: "http://p:1"}
        https_proxy: {url: "http://p:1"}
      """#,
      [
        "3:3: error: parents.direct: 'direct' has a meaning of its own; choose another name",
        "4:3: error: parents.environment: 'environment' has a meaning of its own; choose another name",
        "5:3: error: parents.https_proxy: 'https_proxy' has a meaning of its own; choose another name",
      ]),
    Mistake(
      "ways that are none",
      #"""
      via: corprate
      parents:
        corporate: {url: "http://p:1"}
      routes:
        - {match: a.test, via: [corporate, direct, corporate]}
        - {match: b.test, via: [environment, corporate]}
        - {match: c.test, via: []}
      upstreams:
        - {match: d.test, via: enviroment}
        - {match: e.test, via: {corporate: yes}}
      """#,
      [
        "2:6: error: via: there is no 'corprate' in 'parents' (did you mean 'corporate'?)",
        "6:46: error: routes[0].via[2]: 'corporate' is there twice",
        "7:27: error: routes[1].via[0]: environment must stand alone, not in a list",
        "8:26: error: routes[2].via is empty",
        "10:26: error: upstreams[0].via: there is no 'enviroment' in 'parents' (did you mean 'environment'?)",
        "11:26: error: upstreams[1].via must be a text, not a mapping",
      ]),
    Mistake(
      "more ways than eight",
      #"""
      parents: {a: {url: "http://a:1"}, b: {url: "http://a:1"}, c: {url: "http://a:1"}, d: {url: "http://a:1"}, e: {url: "http://a:1"}, f: {url: "http://a:1"}, g: {url: "http://a:1"}, h: {url: "http://a:1"}}
      via: [a, b, c, d, e, f, g, h, direct]
      """#,
      [
        "3:6: error: via has more than 8 ways"
      ]),
    Mistake(
      "a misspelt key is one mistake",
      #"""
      via: corporate
      parent:
        corporate: {url: "http://p:1"}
      """#,
      [
        "3:1: error: unknown key 'parent' (did you mean 'parents'?)"
      ]),
    Mistake(
      "URLs of parents",
      #"""
      parents:
        a: {url: "proxy.test:8080"}
        b: {url: "http://proxy.test"}
        c: {url: "http://svc:s3cr3t@proxy.test:8080"}
        d: {url: "http://proxy.test:8080/x"}
        e: {url: "http://proxy.test:8080?x"}
        f: {url: "socks4://proxy.test:1080"}
        g: {url: "http://proxy test:8080"}
        h: {url: "http://[::1:8080"}
        i: {url: "http://proxy.test:0"}
        j: {url: "http://:8080"}
        k: {url: "http://proxy.test:8080#x"}
        l: {}
      """#,
      [
        "3:12: error: parents.a.url must start with http://, https://, socks5:// or socks5h://",
        "4:12: error: parents.b.url needs a port, as in http://proxy.example.com:8080",
        "5:12: error: parents.c.url must not contain a user or password: 'credential' names them",
        "6:12: error: parents.d.url must end after host and port",
        "7:12: error: parents.e.url must end after host and port",
        "8:12: error: parents.f.url must start with http://, https://, socks5:// or socks5h://",
        "9:12: error: parents.g.url contains a space, a control or a non-ASCII character",
        "10:12: error: parents.h.url has an invalid IPv6 address",
        "11:12: error: parents.i.url has port 0",
        "12:12: error: parents.j.url has no host",
        "13:12: error: parents.k.url must end after host and port",
        "14:3: error: parents.l needs 'url'",
      ]),
    Mistake(
      "keys that the scheme has no use for",
      #"""
      parents:
        a: {url: "http://p:1", trust: strict, client_certificate: {certificate: cert.pem, key: {file: key.pem}}}
        b: {url: "socks5://p:1", resolve: here, tunnel_http: true, connect_headers: {A: b}, trust: strict}
      trust: {strict: [{default: {}}]}
      """#,
      [
        "3:26: error: parents.a.trust is for https:// parents only",
        "3:41: error: parents.a.client_certificate is for https:// parents only",
        "4:28: error: parents.b.resolve is for http:// and https:// parents only; socks5:// resolves here, "
          + "socks5h:// at the parent",
        "4:43: error: parents.b.tunnel_http is for http:// and https:// parents only",
        "4:62: error: parents.b.connect_headers is for http:// and https:// parents only",
        "4:87: error: parents.b.trust is for https:// parents only",
      ]),
    Mistake(
      "absolute-form and resolving here",
      #"""
      parents:
        a: {url: "http://p:1", resolve: here, tunnel_http: false}
      """#,
      [
        "3:54: error: parents.a.tunnel_http: false contradicts 'resolve: here': in absolute-form the parent "
          + "resolves the host"
      ]),
    Mistake(
      "what a parent refers to",
      #"""
      parents:
        a: {url: "https://p:1", credential: logn, trust: strct}
      credentials: {login: {basic: {username: u, password: {env: TOKEN}}}}
      trust: {strict: [{default: {}}]}
      """#,
      [
        "3:39: error: parents.a.credential: there is no 'logn' in 'credentials' (did you mean 'login'?)",
        "3:52: error: parents.a.trust: there is no 'strct' in 'trust' (did you mean 'strict'?)",
      ]),
    Mistake(
      "kinds of credentials for parents",
      #"""
      parents:
        a: {url: "https://p:1", credential: header}
        b: {url: "https://p:1", credential: oauth}
        c: {url: "socks5://127.0.0.1:1", credential: bearer}
        d: {url: "socks5h://127.0.0.1:1", credential: long}
        e: {url: "https://p:1", credential: digest}
        f: {url: "https://p:1", credential: query}
        g: {url: "socks5://127.0.0.1:1", credential: longer}
        h: {url: "socks5://127.0.0.1:1", credential: other}
      credentials:
        header: {header: {name: X-Key, value: {env: TOKEN}}}
        oauth: {oauth2: {grant: client_credentials, token_url: "https://l/t", client_id: c, client_secret: {env: TOKEN}}}
        bearer: {bearer: {token: {env: TOKEN}}}
        long: {basic: {username: u, password: {file: long-password}}}
        digest: {digest: {username: u, password: {env: TOKEN}}}
        query: {query: {name: key, value: {env: TOKEN}}}
        longer: {basic: {username: uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu, password: {env: TOKEN}}}
        other: {digest: {username: u, password: {env: TOKEN}}}
      """#,
      [
        "3:39: error: parents.a.credential: 'header' must be basic, bearer, digest or negotiate for a parent",
        "4:39: error: parents.b.credential: 'oauth' must be basic, bearer, digest or negotiate for a parent",
        "5:48: error: parents.c.credential: 'bearer' must be basic for a SOCKS parent",
        "6:49: error: parents.d.credential: the password of 'long' must have 1 to 255 bytes for a SOCKS parent",
        "8:39: error: parents.f.credential: 'query' must be basic, bearer, digest or negotiate for a parent",
        "9:48: error: parents.g.credential: the user name of 'longer' must have 1 to 255 bytes for a SOCKS parent",
        "10:48: error: parents.h.credential: 'other' must be basic for a SOCKS parent",
      ]),
    Mistake(
      "a credential in the clear",
      #"""
      parents:
        a: {url: "http://p:1", credential: login}
        b: {url: "socks5://192.0.2.7:1", credential: socks}
      credentials:
        login: {bearer: {token: {env: TOKEN}}}
        socks: {basic: {username: u, password: {env: TOKEN}}}
      """#,
      [
        "3:38: error: parents.a.credential: credential 'login' would go to the parent in the clear, over http://; "
          + "say 'allow_plaintext: true' in it to allow this",
        "4:48: error: parents.b.credential: credential 'socks' would go to the parent in the clear, over "
          + "socks5://; say 'allow_plaintext: true' in it to allow this",
      ]),
    Mistake(
      "a credential under a trust policy that checks nothing",
      #"""
      parents:
        a: {url: "https://p:1", credential: login, trust: lab}
      credentials: {login: {bearer: {token: {env: TOKEN}}}}
      trust: {lab: [{disabled: {}}]}
      """#,
      [
        "3:53: error: parents.a: trust 'lab' is disabled; say 'allow_untrusted: true' in credential 'login' to "
          + "allow this"
      ]),
    Mistake(
      "a parent's credential elsewhere",
      #"""
      upstreams:
        - {match: a.test, credential: one}
      parents:
        a: {url: "https://p:1", credential: one}
        b: {url: "https://q:1", credential: two}
        c: {url: "https://q:1", credential: two}
      credentials:
        one: {bearer: {token: {env: TOKEN}}}
        two: {bearer: {token: {env: TOKEN}}}
      """#,
      [
        "5:39: error: parents.a.credential: 'one' is also the upstreams[0].credential at 3:33; a parent's "
          + "credential is for that parent alone",
        "7:39: error: parents.c.credential: 'two' is also the parents.b.credential at 6:39; a parent's credential "
          + "is for that parent alone",
      ]),
    Mistake(
      "a parent without trust where each host needs one",
      #"""
      all_hosts_must_be_evaluated: true
      parents:
        a: {url: "https://p:1"}
      """#,
      [
        "4:3: error: parents.a names no 'trust', but all_hosts_must_be_evaluated is true"
      ]),
    Mistake(
      "parents that are the proxy itself",
      #"""
      admin: "[::1]:9128"
      parents:
        a: {url: "http://127.0.0.1:3128"}
        b: {url: "http://localhost:3128"}
        c: {url: "socks5://[::ffff:127.0.0.1]:3128"}
        d: {url: "http://proxy.test:3128"}
        e: {url: "http://localhost:9128"}
      hosts: {proxy.test: [192.0.2.7, 127.0.0.1]}
      """#,
      [
        "4:12: error: parents.a.url leads to the proxy itself, which listens on 127.0.0.1:3128",
        "5:12: error: parents.b.url leads to the proxy itself, which listens on 127.0.0.1:3128",
        "6:12: error: parents.c.url leads to the proxy itself, which listens on 127.0.0.1:3128",
        "7:12: error: parents.d.url leads to the proxy itself, which listens on 127.0.0.1:3128",
        "8:12: error: parents.e.url leads to the proxy itself, which listens on [::1]:9128",
      ]),
    Mistake(
      "fields of CONNECT",
      #"""
      parents:
        a:
          url: http://p:1
          connect_headers:
            Host: a
            Via: b
            Proxy-Authorization: s3cr3t
            Authorization: s3cr3t
            Transfer-Encoding: chunked
            Proxy-Connection: close
            "a b": c
            X-A: "a\r\nX-B: c"
            X-C: ok
            x-c: again
      """#,
      [
        "6:7: error: parents.a.connect_headers.Host: the proxy itself writes 'Host', or leaves it out",
        "7:7: error: parents.a.connect_headers.Via: the proxy itself writes 'Via', or leaves it out",
        "8:7: error: parents.a.connect_headers.Proxy-Authorization: a secret for the parent belongs into 'credential'",
        "9:7: error: parents.a.connect_headers.Authorization: a secret for the parent belongs into 'credential'",
        "10:7: error: parents.a.connect_headers.Transfer-Encoding: the proxy itself writes 'Transfer-Encoding', or "
          + "leaves it out",
        "11:7: error: parents.a.connect_headers.Proxy-Connection: the proxy itself writes 'Proxy-Connection', or "
          + "leaves it out",
        "12:7: error: parents.a.connect_headers.a b must be an HTTP field name, not 'a b'",
        "13:12: error: parents.a.connect_headers.X-A contains a character that field values cannot have, possibly "
          + "a line break, or begins or ends with a space",
        "15:7: error: parents.a.connect_headers.x-c: 'x-c' is there twice",
      ]),
    Mistake(
      "routes that are none",
      #"""
      via: direct
      routes:
        - {match: 10.0.0.1/8, via: direct}
        - {match: [], via: direct}
        - {match: ["a.*.test", "http://a.test", "fd00::/129", "a.test:99999", "10.0.0.0/8:443"], via: direct}
        - {match: a.test}
        - {via: direct}
      """#,
      [
        "4:13: error: routes[0].match: '10.0.0.1/8' has bits set beyond its prefix; the block is 10.0.0.0/8",
        "5:13: error: routes[1].match is empty",
        "6:14: error: routes[2].match[0]: 'a.*.test' may have one '*', as its whole first label",
        "6:26: error: routes[2].match[1]: 'http://a.test' must be a host, an address or a block, not a URL",
        "6:43: error: routes[2].match[2]: 'fd00::/129' has a prefix length that is not a number from 0 to 128",
        "6:57: error: routes[2].match[3]: 'a.test:99999' has a port that is not a number from 0 to 65535",
        "6:73: error: routes[2].match[4]: '10.0.0.0/8:443' has a prefix length that is not a number from 0 to 32",
        "7:5: error: routes[3] needs 'via'",
        "8:5: error: routes[4] needs 'match'",
      ]),
    Mistake(
      "hosts that are none",
      #"""
      hosts:
        a.test: [192.0.2.300, "2001:db8::7/64", a.example, 192.0.2.7, 192.0.2.7]
        "*.test": [192.0.2.7]
        192.0.2.7: [192.0.2.8]
        b.test: []
        B.test.: [192.0.2.7]
        c.test:8443: [192.0.2.7]
        d.test: 192.0.2.7
      """#,
      [
        "3:12: error: hosts.a.test[0] must be an address such as 192.0.2.7 or 2001:db8::7, without port and "
          + "prefix, not '192.0.2.300'",
        "3:25: error: hosts.a.test[1] must be an address such as 192.0.2.7 or 2001:db8::7, without port and "
          + "prefix, not '2001:db8::7/64'",
        "3:43: error: hosts.a.test[2] must be an address such as 192.0.2.7 or 2001:db8::7, without port and "
          + "prefix, not 'a.example'",
        "3:65: error: hosts.a.test[4]: '192.0.2.7' is there twice",
        "4:3: error: hosts.*.test: '*.test' has a host with characters that hosts cannot have",
        "5:3: error: hosts.192.0.2.7 is an address already, which needs no other",
        "6:3: error: hosts.b.test lists no address",
        "7:3: error: hosts.B.test.: 'b.test' is there twice",
        "8:3: error: hosts.c.test:8443: 'c.test:8443' has a host with characters that hosts cannot have",
        "9:11: error: hosts.d.test must be a list, not a text",
      ]),
    Mistake(
      "addresses of our own that are none",
      #"""
      bind: [192.0.2.9/24, 0.0.0.0, "ff02::1", 255.255.255.255, 192.0.2.9, 192.0.2.10]
      address_family: ipv5
      """#,
      [
        "2:8: error: bind[0] must be an address such as 192.0.2.7 or 2001:db8::7, without port and prefix, not "
          + "'192.0.2.9/24'",
        "2:22: error: bind[1] must be an address of this machine; for one family say 'address_family: ipv4'",
        "2:31: error: bind[2] must be an address of this machine, not a multicast or broadcast address",
        "2:42: error: bind[3] must be an address of this machine, not a multicast or broadcast address",
        "2:70: error: bind[5] is a second IPv4 address; at most one per family",
        "3:17: error: address_family must be auto, ipv4 or ipv6, not 'ipv5' (did you mean 'ipv4'?)",
      ]),
    Mistake(
      "addresses of an excluded family",
      #"""
      bind: ["2001:db8::9"]
      address_family: ipv4
      upstreams:
        - {match: a.test, bind: [192.0.2.9], address_family: ipv6}
      """#,
      [
        "2:8: error: bind[0] is an IPv6 address, which address_family ipv4 excludes",
        "5:28: error: upstreams[0].bind[0] is an IPv4 address, which address_family ipv6 excludes",
      ]),
    Mistake(
      "an entry that excludes what the file binds",
      #"""
      bind: ["2001:db8::9"]
      upstreams:
        - {match: a.test, address_family: ipv4}
      """#,
      [
        "4:37: error: upstreams[0].address_family ipv4 excludes every address of the file's 'bind'"
      ]),
  ]

  /// Accepted, with a warning.
  static let ofOddWays: [Mistake] = [
    Mistake(
      "an http origin behind a parent",
      #"""
      upstreams: [{match: a.test, origin: "http://a.test", credential: c}, {match: b.test, origin: "http://10.0.0.7", credential: d}]
      credentials:
        c: {bearer: {token: {env: TOKEN}}, allow_plaintext: true}
        d: {bearer: {token: {env: TOKEN}}, allow_plaintext: true}
      via: corporate
      routes: [{match: 10.0.0.0/8, via: direct}]
      parents: {corporate: {url: "http://p:1"}}
      """#,
      [
        "2:21: warning: 'a.test': parent 'corporate' can read the credential, as the origin is http://"
      ]),
    Mistake(
      "forbidden addresses that a parent resolves",
      #"""
      upstreams: [{match: "*.test"}]
      via: [checking, corporate]
      forbidden_addresses: [default]
      parents:
        corporate: {url: "http://p:1"}
        checking: {url: "http://p:1", resolve: here}
      """#,
      [
        "4:1: warning: forbidden_addresses do not hold for names that parent 'corporate' resolves; 'resolve: here' "
          + "makes the proxy check them"
      ]),
    Mistake(
      "forbidden addresses that hold",
      #"""
      upstreams: [{match: "*.test", via: checking}, {match: a.test, via: corporate}]
      forbidden_addresses: [default]
      parents:
        corporate: {url: "http://p:1"}
        checking: {url: "socks5://p:1"}
      """#,
      [

      ]),
    Mistake(
      "a parent that nobody uses",
      #"""
      upstreams: [{match: a.test}]
      credentials: {c: {bearer: {token: {env: TOKEN}}}}
      parents:
        corporate: {url: "https://p:1", credential: c}
      """#,
      [
        "5:3: warning: parents.corporate is not used"
      ]),
  ]
}
