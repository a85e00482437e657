import Foundation
import Testing

/// `authproxy explain`: what the proxy would do with a request, and why.
@Suite struct ExplainCommandTests {
  static let configuration = """
    listen: [127.0.0.1:3128, "127.0.0.2:3128"]
    clients:
      - {name: billing, password: pw-5ecret}
      - {name: guest, from: [10.0.0.0/8], allow: [wide]}
    connect: {allow: ["*.example.test:443"]}
    upstreams:
      - {name: versioned, match: api.test/v1, credential: key, retry: {attempts: 2}}
      - {name: for-billing, match: api.test, clients: [billing], credential: token, client_authorization: reject}
      - {name: whole, match: api.test}
      - {name: wide, match: "*.wide.test"}
      - {name: plain, match: plain.test:8080, origin: "http://127.0.0.1:9"}
    credentials:
      key: {header: {name: X-Api-Key, value: key-5ecret}}
      token: {bearer: {token: tok-5ecret}}
    """

  /// - Returns: the output in one line, as its line breaks depend on its words.
  private func explain(_ arguments: [String], in text: String = configuration) throws -> (
    status: ChildProcess.Ending, text: String
  ) {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(text, to: folder + "/proxy.conf")
    let done = try ChildProcess.run(Surroundings.program, ["explain", "--config", "proxy.conf"] + arguments, folder: folder)
    let words = (done.output + done.errors).split(whereSeparator: \.isWhitespace)
    #expect(!done.output.contains("5ecret"))
    return (done.status, words.joined(separator: " "))
  }

  @Test func `the grant and the state of a login are told`() throws {
    let (status, text) = try explain(["GET", "http://mail.test/"], in: CheckCommandTests.login)
    #expect(status == .exited(0))
    #expect(
      text.contains(
        "credential mailbox: oauth2 authorization_code, tokens from the endpoint that https://login.test names for "
          + "https://mail.test; requests carry the id_token nobody has logged in yet; run \"authproxy login mailbox\""))
  }

  @Test func `what TLS offers the origin is told, and what is left of it`() throws {
    let text = """
      listen: 127.0.0.1:3128
      upstreams:
        - {match: old.test}
        - {match: auto.test, http_version: auto}
        - {match: new.test, http_version: 2}
        - {match: bound.test, http_version: auto, credential: tickets}
        - {match: clear.test, http_version: auto, origin: "http://127.0.0.1:9"}
        - {match: plain.test, origin: "http://127.0.0.1:9"}
      credentials:
        tickets: {negotiate: {keytab: /nonexistent, principal: svc@EXAMPLE.TEST}}
      """
    let upgrade = ["-H", "Connection: Upgrade", "-H", "upgrade:  WebSocket"]
    for (arguments, told) in [
      (["http://old.test/"], "HTTP http_version 1.1: TLS offers http/1.1 alone retry"),
      (["http://auto.test/"], "HTTP http_version auto: TLS offers h2 and http/1.1, and the origin chooses retry"),
      (["http://new.test/"], "HTTP http_version 2: TLS offers h2 alone; an origin without it is 502 retry"),
      (
        ["http://bound.test/"],
        "HTTP http_version auto: TLS offers http/1.1 alone, as credential tickets authenticates connections retry"
      ),
      (["http://clear.test/"], "HTTP http_version auto: 1.1, as the origin has no TLS retry"),
      (upgrade + ["http://old.test/"], "HTTP http_version 1.1: TLS offers http/1.1 alone retry"),
      (upgrade + ["http://auto.test/"], "HTTP http_version auto: TLS offers http/1.1 alone, as HTTP/2 has no Upgrade retry"),
      (
        upgrade + ["http://new.test/"],
        "HTTP http_version 2: TLS offers h2 alone; Upgrade is dropped, as HTTP/2 has none retry"
      ),
    ] {
      let (status, shown) = try explain(Array(arguments.dropLast()) + ["GET", arguments[arguments.count - 1]], in: text)
      #expect(status == .exited(0) && shown.contains(told), "\(arguments): \(shown)")
    }
    #expect(try !explain(["GET", "http://plain.test/"], in: text).text.contains("http_version"))
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(text, to: folder + "/proxy.conf")
    let checked = try ChildProcess.run(Surroundings.program, ["check", "--config", "proxy.conf"], folder: folder)
    let words = checked.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for told in [
      "-> https://old.test no credential, trust system roots auto.test",
      "no credential, trust system roots, HTTP/2 or 1.1 new.test",
      "no credential, trust system roots, HTTP/2 only bound.test",
      "credential tickets, trust system roots clear.test",
    ] { #expect(words.contains(told), "\(told) in \(words)") }
  }

  @Test func `what the store has to do with a request is told, with the fields that tell it apart`() throws {
    let text = """
      listen: 127.0.0.1:3128
      upstreams:
        - {match: api.test, credential: key, cache: {stale_if_error: 5m, ignore_headers: [X-Id]}, timeouts: {collapse: 2s}}
        - {match: all.test, cache: {share: public, collapse: off}}
        - {match: none.test}
      credentials: {key: {header: {name: X-Api-Key, value: key-5ecret}}}
      """
    for (arguments, told) in [
      (
        ["-H", "Cookie: a", "-H", "X-Id: b", "-H", "X-Api-Key: c", "GET", "http://api.test/"],
        [
          "share client: an answer serves the client that asked for it", "who credential key is",
          "and for what it has in cookie, and in fields that the answer's Vary names", "waits up to 2s",
        ]
      ),
      (["GET", "http://api.test/"], ["name some with -H to see which count"]),
      (["-H", "User-Agent: x", "GET", "http://all.test/"], ["whatever it has in User-Agent", "waits for no other request"]),
      (
        ["HEAD", "http://all.test/"],
        ["share public: an answer serves all clients, if its origin says so", "HEAD: answered from"]
      ),
      (["POST", "http://all.test/"], ["not looked up; if the origin answers 2xx or 3xx"]),
      (["-H", "If-Match: \"a\"", "GET", "http://all.test/"], ["not looked up: it has a body, Upgrade, If-Match"]),
    ] {
      let (status, words) = try explain(arguments, in: text)
      #expect(status == .exited(0))
      for part in told { #expect(words.contains(part), "\(arguments): \(words)") }
    }
    #expect(try !explain(["GET", "http://none.test/"], in: text).text.contains("cache"))
    #expect(try explain(["-H", "nothing", "GET", "http://none.test/"], in: text).text.contains("'nothing' is no field"))
  }

  @Test func `every decision is told with its reason`() throws {
    let cases: [(arguments: String, told: [String])] = [
      (
        "--client billing GET http://api.test/v1/x",
        [
          "entry versioned: the host is the same, the path begins with /v1", "not for-billing: is less specific",
          "goes to https://api.test", "key: header X-Api-Key", "up to 2 retries",
        ]
      ),
      ("--client billing POST http://api.test/v1/x", ["entry versioned", "none for POST"]),
      (
        "--client billing GET http://api.test/v10",
        ["entry for-billing", "it serves billing", "not versioned: serves paths under /v1", "gets 403", "retry none"]
      ),
      (
        "--client guest GET http://a.b.wide.test/",
        ["entry wide: the host is below wide.test", "goes to https://a.b.wide.test"]
      ),
      ("--client guest GET http://api.test/", ["entry whole", "403 Forbidden", "`allow`"]),
      ("--client billing GET http://api.test/v1/../x", ["400 Bad Request", "dot segments"]),
      ("--client billing TRACE http://api.test/v1", ["405 Method Not Allowed"]),
      ("--client billing GET http://other.test/", ["403 Forbidden", "No `upstreams` entry matches other.test"]),
      ("--client billing GET http://plain.test/", ["not plain: serves port 8080", "403 Forbidden"]),
      ("--client billing GET http://plain.test:8080/", ["entry plain", "goes to http://127.0.0.1:9", "http:// in clear text"]),
      ("--client billing GET https://api.test/v1", ["entry versioned", "most tools send CONNECT"]),
      ("--client billing GET /x", ["400 Bad Request", "http_proxy"]),
      (
        "--client billing CONNECT plain.test:8080",
        ["no tunnel", "plain", "if a TLS handshake follows: the proxy closes the connection"]
      ),
      ("--client billing CONNECT www.example.test:443", ["opaque tunnel"]),
      ("--client billing CONNECT www.example.test:8443", ["403 Forbidden", "connect.allow"]),
      ("--client guest CONNECT www.example.test:443", ["403 Forbidden", "client guest"]),
      ("GET http://api.test/", ["407 Proxy Authentication Required", "--client billing"]),
    ]
    each(cases) { (arguments, told) in
      let (status, text) = try explain(arguments.split(separator: " ").map(String.init))
      #expect(status == .exited(0), "\(arguments): \(text)")
      for part in told { #expect(text.contains(part), "\(arguments): \(part) in: \(text)") }
    }
  }

  @Test func `the proxy does what explain said`() throws {
    let text = """
      upstreams:
        - {name: versioned, match: api.test/v1, credential: key, origin: "https://localhost:\(try Origin.shared().ports.https)"}
      credentials:
        key: {header: {name: X-Api-Key, value: key-5ecret}}
      """
    try withProxy(text) { proxy in
      for target in ["http://api.test/v1", "http://api.test/v10", "http://api.test/v1/%2e%2e/x", "http://other.test/v1"] {
        let status = try proxy.ask(target).status
        let (_, told) = try explain(["GET", target], in: try ProxyProcess.complete(text))
        #expect(told.contains("entry versioned") == (status == 200 || status == 400), "\(target): \(status), \(told)")
        if status != 200 { #expect(told.contains("answer \(status) "), "\(target): \(status), \(told)") }
      }
    }
  }

  @Test func `a client that nobody knows is a usage error, 64, and a broken file is 78`() throws {
    let (status, text) = try explain(["--client", "nobody", "GET", "http://api.test/"])
    #expect(status == .exited(64))
    #expect(text.contains("clients: billing, guest"))
    #expect(try explain(["GET", "http://api.test/"], in: "listen: nowhere\n").status == .exited(78))
  }
}
