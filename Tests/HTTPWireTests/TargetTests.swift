import HTTPWire
import Testing

@Suite("A request's target")
struct TargetTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var line: String
    var form: RequestTarget.Form
    var https = false
    var kind = Authority.HostKind.name
    var host = ""
    var port: UInt16?
    var authority = ""
    var path = ""
    var pathAndQuery = ""
    var origin = ""
    var testDescription: String { line }
  }

  static let accepted: [Case] = [
    Case(
      line: "GET http://example.com/a/b?c=d?e", form: .absolute, host: "example.com", authority: "example.com", path: "/a/b",
      pathAndQuery: "/a/b?c=d?e", origin: "/a/b?c=d?e"),
    Case(
      line: "GET HTTPS://Example.COM.:8443/", form: .absolute, https: true, host: "Example.COM", port: 8443,
      authority: "Example.COM.:8443", path: "/", pathAndQuery: "/", origin: "/"),
    Case(line: "GET http://host", form: .absolute, host: "host", authority: "host", origin: "/"),
    Case(
      line: "GET http://host?q", form: .absolute, host: "host", authority: "host", path: "", pathAndQuery: "?q",
      origin: "/?q"),
    Case(
      line: "GET http://host:/x", form: .absolute, host: "host", authority: "host:", path: "/x", pathAndQuery: "/x",
      origin: "/x"),
    Case(line: "OPTIONS http://host", form: .absolute, host: "host", authority: "host", origin: "*"),
    Case(
      line: "OPTIONS http://host?q", form: .absolute, host: "host", authority: "host", pathAndQuery: "?q", origin: "/?q"),
    Case(
      line: "OPTIONS http://host/", form: .absolute, host: "host", authority: "host", path: "/", pathAndQuery: "/", origin: "/"),
    Case(line: "OPTIONS *", form: .asterisk, origin: "*"),
    Case(line: "GET /a?b", form: .origin, path: "/a", pathAndQuery: "/a?b", origin: "/a?b"),
    Case(
      line: "GET //a/http://b@c", form: .origin, path: "//a/http://b@c", pathAndQuery: "//a/http://b@c",
      origin: "//a/http://b@c"),
    Case(
      line: "GET http://127.0.0.1:80/", form: .absolute, kind: .ipv4, host: "127.0.0.1", port: 80, authority: "127.0.0.1:80",
      path: "/", pathAndQuery: "/", origin: "/"),
    Case(
      line: "GET http://[2001:db8::1]:8080/", form: .absolute, kind: .ipv6, host: "2001:db8::1", port: 8080,
      authority: "[2001:db8::1]:8080", path: "/", pathAndQuery: "/", origin: "/"),
    Case(line: "CONNECT example.com:443", form: .authority, host: "example.com", port: 443, authority: "example.com:443"),
    Case(line: "CONNECT [::1]:443", form: .authority, kind: .ipv6, host: "::1", port: 443, authority: "[::1]:443"),
    Case(
      line: "GET http://a_b-c.xn--bcher-kva.example/", form: .absolute, host: "a_b-c.xn--bcher-kva.example",
      authority: "a_b-c.xn--bcher-kva.example", path: "/", pathAndQuery: "/", origin: "/"),
    Case(
      line: "GET http://h/a@b:c|d{e}\"f", form: .absolute, host: "h", authority: "h", path: "/a@b:c|d{e}\"f",
      pathAndQuery: "/a@b:c|d{e}\"f", origin: "/a@b:c|d{e}\"f"),
  ]

  @Test("is taken apart", arguments: accepted)
  func parts(expected: Case) throws {
    let request = ParsedRequest("\(expected.line) HTTP/1.1\r\nHost: h\r\n\r\n")
    let target = try request.target.get()
    #expect(target.form == expected.form)
    #expect(target.isHTTPS == expected.https)
    #expect(target.hostKind == expected.kind)
    #expect(request.text(target.host) == expected.host)
    #expect(target.port == expected.port)
    #expect(request.text(target.authority) == expected.authority)
    #expect(request.text(target.path) == expected.path)
    #expect(request.text(target.pathAndQuery) == expected.pathAndQuery)
    guard target.form != .authority else { return }
    let origin = request.bytes.withUnsafeBytes { bytes in
      written { $0.append(originFormOf: target, method: request.head.method, in: bytes) }
    }
    #expect(origin == expected.origin)
  }

  @Test("without a port has its scheme's")
  func ports() throws {
    #expect(try ParsedRequest("GET http://h/ HTTP/1.1\r\n\r\n").target.get().effectivePort == 80)
    #expect(try ParsedRequest("GET https://h/ HTTP/1.1\r\n\r\n").target.get().effectivePort == 443)
    #expect(try ParsedRequest("GET https://h:1/ HTTP/1.1\r\n\r\n").target.get().effectivePort == 1)
  }

  @Test(
    "is refused",
    arguments: [
      ("GET *", HeadError.targetForm), ("GET example.com", .targetForm), ("GET example.com/a:b", .targetForm),
      ("OPTIONS **", .targetForm), ("GET ?q", .targetForm), ("GET http:/", .scheme), ("GET http:host/", .scheme),
      ("GET ftp://host/", .scheme), ("GET file:///etc/passwd", .scheme), ("GET example.com:80", .scheme),
      ("GET ws://host/", .scheme), ("GET http:/host/", .scheme), ("GET http://", .scheme), ("GET https://", .scheme),
      ("GET http:///path", .hostName), ("GET http://?q", .hostName), ("GET http://:80/", .hostName),
      ("GET http://user@host/", .userinfo), ("GET http://user:pass@host/", .userinfo), ("GET http://@host/", .userinfo),
      ("GET http://good.example\\@evil.example/", .userinfo), ("CONNECT user@host:443", .userinfo),
      ("GET http://host/#f", .fragment), ("GET http://host#f", .fragment), ("GET /a#b", .fragment),
      ("GET http://good.example#@evil.example/", .fragment),
      ("GET http://ho%73t/", .hostName), ("GET http://host\\x/", .hostName), ("GET http://a..b/", .hostName),
      ("GET http://.a/", .hostName), ("GET http://./", .hostName), ("GET http://a../", .hostName),
      ("GET http://a,b/", .hostName),
      ("GET http://a*b/", .hostName), ("GET http://a!b/", .hostName), ("GET http://[::1]x/", .hostName),
      ("GET http://h:0/", .port), ("GET http://h:65536/", .port), ("GET http://h:8x/", .port), ("GET http://h:+80/", .port),
      ("GET http://h:80:80/", .port), ("GET http://h:000080/", .port), ("GET http://h:-1/", .port),
      ("GET http://::1/", .hostName),
      ("CONNECT host", .port), ("CONNECT host:", .port), ("CONNECT host:0", .port), ("CONNECT /", .hostName),
      ("CONNECT *", .hostName), ("CONNECT http://host:80/", .port), ("CONNECT host:80/", .port), ("CONNECT :80", .hostName),
    ])
  func refused(line: String, error: HeadError) {
    #expect(ParsedRequest("\(line) HTTP/1.1\r\nHost: h\r\n\r\n").target == .failure(error))
  }

  @Test("has a host name of bounded labels")
  func lengths() {
    func target(_ host: String) -> Result<RequestTarget, HeadError> {
      ParsedRequest("GET http://\(host)/ HTTP/1.1\r\n\r\n").target
    }
    let label = String(repeating: "a", count: 63)
    #expect(throws: Never.self) { try target(label).get() }
    #expect(target(label + "a") == .failure(.hostName))
    let longest = "\(label).\(label).\(label).\(String(repeating: "b", count: 61))"
    #expect(throws: Never.self) { try target(longest).get() }
    #expect(throws: Never.self) { try target(longest + ".").get() }
    #expect(target(longest + "b") == .failure(.hostName))
  }

  @Test(
    "is no number for a host in any spelling of inet_aton",
    arguments: [
      "2130706433", "017700000001", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01", "127.0.0.256",
      "1.2.3.4.5", "1.2.3", "0x7F.0.0.0x1", "foo.0x1", "foo.1", "0x", "1.2.3.4567", "0",
    ])
  func addressSpellings(host: String) {
    #expect(ParsedRequest("GET http://\(host)/ HTTP/1.1\r\n\r\n").target == .failure(.hostAddress))
    #expect(ParsedRequest("GET http://\(host)./ HTTP/1.1\r\n\r\n").target == .failure(.hostAddress))
  }

  @Test(
    "may be a plain address",
    arguments: [
      "0.0.0.0", "255.255.255.255", "10.0.0.1.", "[::]", "[::1]", "[1::]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7::]",
      "[::2:3:4:5:6:7:8]", "[::ffff:1.2.3.4]", "[1:2:3:4:5:6:1.2.3.4]", "[FE80::A]", "[0001::]",
    ])
  func addresses(host: String) throws {
    let target = try ParsedRequest("GET http://\(host):1/ HTTP/1.1\r\n\r\n").target.get()
    #expect(target.hostKind == (host.hasPrefix("[") ? .ipv6 : .ipv4))
    #expect(target.port == 1)
  }

  @Test(
    "is no malformed IPv6 address, zone or future one",
    arguments: [
      "[]", "[:]", "[:::]", "[1]", "[1:2]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1::2::3]", "[12345::]", "[g::]", "[:1]",
      "[1:]", "[1:2:3:4:5:6:7::8]", "[::1.2.3]", "[::1.2.3.4:5]", "[::1.2.3.256]", "[fe80::1%25eth0]", "[fe80::1%eth0]",
      "[v1.x]",
      "[::1", "[::1 ]", "[1.2.3.4]", "[::01.2.3.4]",
    ])
  func badAddresses(host: String) {
    let target = ParsedRequest("GET http://\(host.replacing(" ", with: "_"))/ HTTP/1.1\r\n\r\n").target
    #expect(target == .failure(.hostAddress))
  }
}

@Suite("The Host field")
struct HostFieldTests {
  @Test(
    "is there once and well-formed (RFC 9112 section 3.2), and decides nothing",
    arguments: [
      ("1.1", "Host: other.example", nil), ("1.1", "Host: [::1]:80", nil), ("1.1", "host: h:", nil), ("1.0", "A: b", nil),
      ("1.0", "Host: h", nil), ("1.1", "A: b", HeadError.hostMissing), ("1.1", "Host: a\r\nHost: a", .hostRepeated),
      ("1.0", "Host: a\r\nhOST: b", .hostRepeated), ("1.1", "Host:", .hostMalformed), ("1.1", "Host: a b", .hostMalformed),
      ("1.1", "Host: a, b", .hostMalformed), ("1.1", "Host: u@h", .hostMalformed), ("1.1", "Host: h/", .hostMalformed),
      ("1.1", "Host: http://h", .hostMalformed), ("1.1", "Host: h:x", .hostMalformed), ("1.0", "Host: h?", .hostMalformed),
    ] as [(String, String, HeadError?)])
  func hosts(version: String, fields: String, error: HeadError?) {
    #expect(ParsedRequest("GET http://h/ HTTP/\(version)\r\n\(fields)\r\n\r\n").hostError == error)
  }

  @Test(
    "has the authority that it has without Host's",
    arguments: ["h", "Example.COM.:8443", "h:", "[::1]:8080", "127.0.0.1", "other"],
    ["h", "Example.COM.:8443", "[::1]:8080", "h:"])
  func known(authority: String, host: String) throws {
    let request = ParsedRequest("GET https://\(authority)/a?b HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    try request.bytes.withUnsafeBytes { bytes in
      let known = try request.head.checkHost(in: bytes)
      #expect(try RequestTarget(of: request.head, host: known, in: bytes) == RequestTarget(of: request.head, in: bytes))
    }
  }
}

@Suite("The path of a host with prefixed entries")
struct PathRuleTests {
  private func isRefused(_ path: String) -> Bool {
    Array(path.utf8).withUnsafeBytes { bytes in
      do throws(HeadError) {
        let isPlain = try checkPath(ByteSlice(start: 0, count: bytes.count), in: bytes)
        #expect(isPlain == !path.contains { "%;".contains($0) })
        return false
      } catch {
        #expect(error == .ambiguousPath)
        return true
      }
    }
  }

  @Test(
    "is refused when a server could resolve it to another",
    arguments: [
      "/.", "/..", "/./", "/../", "/a/.", "/a/..", "/a/./b", "/a/../b", "/%2e", "/%2E%2e/", "/.%2e/b", "/%2e./b", "/a/%2e%2E",
      "/a%2fb", "/a%2Fb", "/%2f", "/a\\b", "/a%5cb", "/a%5C..%5cb", "//", "//a", "/a//b", "/a//", "/..;/b", "/.;x=y/b",
      "/a/..;",
      "/%2e%2e;/b", "/..%3b/b", "/a/;/b",
    ])
  func refused(path: String) { #expect(isRefused(path)) }

  @Test(
    "is taken as it is otherwise",
    arguments: [
      "", "/", "/a", "/a/", "/a.b/c", "/.well-known/x", "/...", "/.../a", "/a..b", "/..a", "/a..", "/a;b=c/d", "/%20", "/%",
      "/%2", "/%zz", "/a%25%32%66",
    ])
  func accepted(path: String) { #expect(!isRefused(path)) }
}
