import Foundation
import Testing

/// An origin that sends a secret of the target back, where URLs are.
@Suite struct EchoedCredentialTests {
  /// Encoded as the proxy does, in other ways, and more than once.
  static let spellings = [
    "k-5ecret%2F%2B%20%C3%BC%3A", "k-5ecret%2F+%20%C3%BC:", "%6b%2d%35%65%63%72%65%74%2f%2b%20%c3%bc%3a",
    "k-5ecret/%2b+%c3%bc:",
    "k-5ecret%252F%252B%2520%25C3%25BC%253A", "k%252D5%65cret%25252F%25252b%252520%2525C3%2525Bc%25253a",
  ]

  private func answer(_ proxy: ProxyProcess, _ status: String, _ fields: String, interim: String = "") throws -> Answer {
    let name = Origin.newName()
    let head = interim.isEmpty ? "" : "HTTP/1.1 103 Early Hints\r\n\(interim)\r\n"
    try Origin.shared().script(name, [.readBody, .send(head), TargetCredential.answer(status, fields)])
    let answer = try proxy.ask("http://api.test/?id=\(name)")
    for text in [answer.head] + answer.interim.map(\.head) {
      var decoded = text
      for _ in 0..<4 { decoded = decoded.removingPercentEncoding ?? decoded }
      #expect(!decoded.contains("5ecret"), "\(text)")
    }
    return answer
  }

  private var place: String { get throws { "https://localhost:\(try Origin.shared().ports.https)" } }

  @Test func `a parameter is removed from redirects and links`() throws {
    try withProxy(TargetCredential.query(try TargetCredential.file().value)) { proxy throws in
      for spelling in Self.spellings {
        let url = "\(try place)/a?key=\(spelling)&b=1"
        let answer = try answer(
          proxy, "302 Found",
          "Location: \(url)\r\nContent-Location: /x?k%65y=\(spelling)\r\nLink: <\(url)>; rel=next, <?p=2;key=\(spelling)>; rel=last\r\n",
          interim: "Link: </style?key=\(spelling)>; rel=preload\r\n")
        #expect(answer["Location"] == "http://api.test/a?b=1")
        #expect(answer["Content-Location"] == "/x")
        #expect(answer["Link"] == "<http://api.test/a?b=1>; rel=next, <?p=2>; rel=last")
        #expect(answer.interim.first?["Link"] == "</style>; rel=preload")
      }
    }
  }

  @Test func `a segment is removed from redirects and links`() throws {
    try withProxy(TargetCredential.path(try TargetCredential.file().value)) { proxy throws in
      // Decoded it would be two segments.
      for spelling in Self.spellings where !spelling.contains("/") {
        let url = "\(try place)/b%6ft\(spelling)/a?b=1"
        let answer = try answer(
          proxy, "307 Elsewhere",
          "Location: \(url)\r\nContent-Location: /bot\(spelling)\r\nLink: <\(url)>; rel=next, </bot\(spelling)/c>; rel=last\r\n"
            + "Set-Cookie: a=b; Path=/bot\(spelling)/; HttpOnly\r\n",
          interim: "Link: </bot\(spelling)/style>; rel=preload\r\n")
        #expect(answer["Location"] == "http://api.test/a?b=1")
        #expect(answer["Content-Location"] == "/")
        #expect(answer["Link"] == "<http://api.test/a?b=1>; rel=next, </c>; rel=last")
        #expect(answer["Set-Cookie"] == "a=b; Path=/; HttpOnly")
        #expect(answer.interim.first?["Link"] == "</style>; rel=preload")
      }
    }
  }

  @Test func `stars take the place of a secret that is anywhere else in a URL`() throws {
    let value = try TargetCredential.file().value
    for text in [try TargetCredential.query(value), try TargetCredential.path(value)] {
      try withProxy(text) { proxy throws in
        for spelling in Self.spellings {
          let answer = try answer(
            proxy, "303 There",
            "Location: https://login.test/?to=https%3A%2F%2Fapi%2Fx%3Fother%3D\(spelling)%26a\r\nRefresh: 5; url=/x?token=\(spelling)\r\n"
          )
          #expect(answer["Location"] == "https://login.test/?to=https%3A%2F%2Fapi%2Fx%3Fother%3D***%26a")
          #expect(answer["Refresh"] == "5; url=/x?token=***")
        }
      }
    }
  }

  @Test func `a refusal that is held and then relayed has none`() throws {
    try withProxy(TargetCredential.query(try TargetCredential.file().value)) { proxy throws in
      let answer = try answer(
        proxy, "401 No", "Location: /login?key=\(Self.spellings[2])\r\nLink: </x?key=\(Self.spellings[0])>\r\n")
      #expect(answer.status == 401 && answer["Location"] == "/login" && answer["Link"] == "</x>")
      #expect(answer.proxyDetails == "not retried, the credential has not changed")
    }
  }

  @Test func `trailers with URLs do not go on`() throws {
    let value = try TargetCredential.file().value
    for text in [try TargetCredential.query(value), try TargetCredential.path(value)] {
      try withProxy(text) { proxy throws in
        let (name, echo) = (Origin.newName(), "/bot\(Self.spellings[0])/x?key=\(Self.spellings[0])")
        let trailers = "Link: <\(echo)>; rel=next\r\nContent-Location: \(echo)\r\nrefresh: 1; url=\(echo)\r\nX-Sum: 1\r\n"
        try Origin.shared().script(
          name, [.readBody, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\(trailers)\r\n")])
        let answer = try proxy.ask("GET", "http://api.test/?id=\(name)", ["TE: trailers", "Connection: TE"])
        #expect(answer.text == "ok" && answer.trailers.map(\.name) == ["X-Sum"])
      }
    }
  }

  @Test func `what the app itself sent stays`() throws {
    try withProxy(TargetCredential.query(try TargetCredential.file().value, entry: ", client_authorization: keep")) {
      proxy throws in
      let name = Origin.newName()
      try Origin.shared().script(name, [.readBody, TargetCredential.answer("302 Found", "Location: /a?key=mine\r\n")])
      #expect(try proxy.ask("http://api.test/?key=mine&id=\(name)")["Location"] == "/a?key=mine")
      #expect(try proxy.ask("http://api.test/?id=\(name)")["Location"] == "/a?key=mine")
    }
  }
}
