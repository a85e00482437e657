import Testing

/// Ways out, origins and rules: a file with each of their mistakes.
@Suite struct EveryWayMistakeTests {
  private static let text = #"""
    listen: [{address: "127.0.0.1:3128", proxy_protocol: []}]
    via: [corporate, corporate, enviroment]
    routes: [{match: [10.0.0.1/8, 300.0.0.0/8, "fd00::/129"], via: [direct, environment]}]
    bind: [192.0.2.9, 192.0.2.10, 192.0.2.300]
    hosts: {api.example.com: [192.0.2.300]}
    parents:
      direct: {url: "http://p:1"}
      environment: {url: "http://p:1"}
      corporate: {url: "http://svc:s3cr3t@p:1", resolve: here, tunnel_http: false}
      path: {url: "http://p:1/x"}
      clear: {url: "http://p:1", trust: strict, client_certificate: {certificate: cert.pem, key: {file: key.pem}}}
      query: {url: "http://p:1?x"}
      own: {url: "http://127.0.0.1:3128"}
      socks: {url: "socks5://127.0.0.1:1", resolve: here, tunnel_http: true, connect_headers: {A: b}, credential: empty}
      header: {url: "https://p:1", credential: header}
      key: {url: "https://p:1", credential: key}
      shared: {url: "https://p:1", credential: shared}
    trust: {strict: [{default: {}}]}
    credentials:
      empty: {basic: {username: "", password: {env: TOKEN}}}
      header: {header: {name: X-Key, value: {env: TOKEN}}}
      key: {query: {name: key, value: {env: TOKEN}}}
      unnamed: {query: {name: "", value: {env: TOKEN}}}
      shared: {bearer: {token: {env: TOKEN}}}
    upstreams:
      - {match: many.test, via: [path, query, own, socks, header, key, shared, direct, corporate]}
      - {match: shared.test, credential: shared}
      - {match: docker.test, origin: unix:/run/a.sock, via: direct, bind: [192.0.2.9], address_family: ipv4, trust: strict, client_certificate: {certificate: cert.pem, key: {file: key.pem}}}
      - {match: sockets.test, origin: ["https://a", unix:/run/a.sock]}
      - {match: list.test, origin: ["https://a", "http://b", "https://c/v1", "https://a"]}
      - {match: bare.test, strip_prefix: true}
      - {match: path.test/v1, origin: "https://a/v2", strip_prefix: true}
      - {match: family.test, bind: ["2001:db8::9"], address_family: ipv4}
      - match: rules.test
        credential: header
        request_headers: {remove: [Host, Expect, Content-Length, Connection, Via, Proxy-Status, X-Key], set: {Authorization: s3cr3t, Cookie: s3cr3t, X-Line: "a\r\nb"}}
        response_headers: {set: {Transfer-Encoding: chunked}}
    """#

  private static let errors = [
    "1:54: error: listen[0].proxy_protocol is empty; leave it out if no connection begins with a PROXY "
      + "header",
    "2:18: error: via[1]: 'corporate' is there twice",
    "2:29: error: via[2]: there is no 'enviroment' in 'parents' (did you mean 'environment'?)",
    "3:19: error: routes[0].match[0]: '10.0.0.1/8' has bits set beyond its prefix; the block is "
      + "10.0.0.0/8",
    "3:31: error: routes[0].match[1]: '300.0.0.0/8' must be an address or a block such as 10.2.0.0/16 or "
      + "fd00::/8",
    "3:44: error: routes[0].match[2]: 'fd00::/129' has a prefix length that is not a number from 0 to 128",
    "3:73: error: routes[0].via[1]: environment must stand alone, not in a list",
    "4:19: error: bind[1] is a second IPv4 address; at most one per family",
    "4:31: error: bind[2] must be an address such as 192.0.2.7 or 2001:db8::7, without port and prefix, "
      + "not '192.0.2.300'",
    "5:27: error: hosts.api.example.com[0] must be an address such as 192.0.2.7 or 2001:db8::7, without "
      + "port and prefix, not '192.0.2.300'",
    "7:3: error: parents.direct: 'direct' has a meaning of its own; choose another name",
    "8:3: error: parents.environment: 'environment' has a meaning of its own; choose another name",
    "9:20: error: parents.corporate.url must not contain a user or password: 'credential' names them",
    "9:73: error: parents.corporate.tunnel_http: false contradicts 'resolve: here': in absolute-form the "
      + "parent resolves the host",
    "10:15: error: parents.path.url must end after host and port",
    "11:30: error: parents.clear.trust is for https:// parents only",
    "11:45: error: parents.clear.client_certificate is for https:// parents only",
    "12:16: error: parents.query.url must end after host and port",
    "13:14: error: parents.own.url leads to the proxy itself, which listens on 127.0.0.1:3128",
    "14:40: error: parents.socks.resolve is for http:// and https:// parents only; socks5:// resolves "
      + "here, socks5h:// at the parent",
    "14:55: error: parents.socks.tunnel_http is for http:// and https:// parents only",
    "14:74: error: parents.socks.connect_headers is for http:// and https:// parents only",
    "15:44: error: parents.header.credential: 'header' is also the upstreams[8].credential at 35:17; a "
      + "parent's credential is for that parent alone",
    "15:44: error: parents.header.credential: 'header' must be basic, bearer, digest or negotiate for a "
      + "parent",
    "16:41: error: parents.key.credential: 'key' must be basic, bearer, digest or negotiate for a parent",
    "17:44: error: parents.shared.credential: 'shared' is also the upstreams[1].credential at 27:38; a "
      + "parent's credential is for that parent alone",
    "20:29: error: credentials.empty.basic.username must be a text, not an empty one",
    "23:27: error: credentials.unnamed.query.name must be a text, not an empty one",
    "26:29: error: upstreams[0].via has more than 8 ways",
    "28:52: error: upstreams[2].via has no effect: the origin is a unix socket",
    "28:65: error: upstreams[2].bind has no effect: the origin is a unix socket",
    "28:84: error: upstreams[2].address_family has no effect: the origin is a unix socket",
    "28:106: error: upstreams[2].trust has no effect: the origin is a unix socket",
    "28:121: error: upstreams[2].client_certificate has no effect: the origin is a unix socket",
    "29:49: error: upstreams[3].origin[1] cannot be a unix socket: it stands in a list",
    "30:46: error: upstreams[4].origin[1] must be https://, as the first origin of the list is",
    "30:58: error: upstreams[4].origin[2] must have no path, as the first origin of the list has",
    "30:74: error: upstreams[4].origin[3] is in the list twice",
    "31:24: error: upstreams[5].strip_prefix cannot be true: upstreams[5].match at 31:13 has no path "
      + "prefix",
    "32:51: error: upstreams[6].strip_prefix cannot be true: 'origin' has the path '/v2', which takes "
      + "the place of the match's prefix",
    "33:33: error: upstreams[7].bind[0] is an IPv6 address, which address_family ipv4 excludes",
    "36:32: error: upstreams[8].request_headers.remove[0]: 'Host' belongs to the connection, and the "
      + "proxy itself writes it; 'origin' and 'host_header' say what is in it",
    "36:38: error: upstreams[8].request_headers.remove[1]: 'Expect' belongs to the connection, and the "
      + "proxy itself writes it",
    "36:46: error: upstreams[8].request_headers.remove[2]: 'Content-Length' belongs to the connection, "
      + "and the proxy itself writes it",
    "36:62: error: upstreams[8].request_headers.remove[3]: 'Connection' belongs to the connection, and "
      + "the proxy itself writes it",
    "36:74: error: upstreams[8].request_headers.remove[4]: 'Via' belongs to the connection, and the "
      + "proxy itself writes it",
    "36:79: error: upstreams[8].request_headers.remove[5]: 'Proxy-Status' belongs to the connection, and "
      + "the proxy itself writes it",
    "36:93: error: upstreams[8].request_headers.remove[6]: 'X-Key' is the field that credential 'header' "
      + "writes; 'client_authorization' says what happens to the app's own",
    "36:107: error: upstreams[8].request_headers.set.Authorization: 'Authorization' holds a secret; "
      + "define it in 'credentials', and name it in the entry's 'credential'",
    "36:130: error: upstreams[8].request_headers.set.Cookie: 'Cookie' holds a secret; define it in "
      + "'credentials', and name it in the entry's 'credential'",
    "36:154: error: upstreams[8].request_headers.set.X-Line contains a line break, or begins or ends "
      + "with a space",
    "37:30: error: upstreams[8].response_headers.set.Transfer-Encoding: 'Transfer-Encoding' belongs to "
      + "the connection, and the proxy itself writes it",
  ]

  @Test func `all of them are reported in one pass, each at its place and with what to do`() {
    let loaded = World.read(Self.text)
    #expect(loaded.errorLines == Self.errors)
    #expect(loaded.settings == nil)
    #expect(!loaded.lines.contains { $0.contains("s3cr3t") })
  }
}
