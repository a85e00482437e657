import Foundation
import Testing

/// URLs below the origin become URLs below the match.
@Suite struct RewriteTests {
  private func answer(_ entry: String..., match: String = "api.test", fields: (_ origin: String) -> String) throws -> Answer {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let place = "https://localhost:\(origin.ports.https)"
    try origin.script(name, [.readBody, .send("HTTP/1.1 302 Found\r\n\(fields(place))Content-Length: 0\r\n\r\n")])
    var configuration = try Configuration.https(entry.first ?? "name: x")
    configuration = configuration.replacingOccurrences(of: "match: api.test", with: "match: \(match)")
    let proxy = try ProxyProcess(configuration)
    defer { proxy.stop() }
    return try proxy.ask("http://\(match)/?id=\(name)")
  }

  @Test func `Location, Content-Location and Link under our origin come here`() throws {
    let answer = try answer { origin in
      "Location: \(origin)/next?x=1\r\nContent-Location: \(origin)/this\r\n"
        + "Link: <\(origin)/page2>; rel=\"next\", <https://elsewhere.test/x>; rel=\"other\", </rel>; rel=\"self\"\r\n"
    }
    #expect(answer["Location"] == "http://api.test/next?x=1")
    #expect(answer["Content-Location"] == "http://api.test/this")
    #expect(
      answer.all("Link").joined(separator: ", ")
        == "<http://api.test/page2>; rel=\"next\", <https://elsewhere.test/x>; rel=\"other\", </rel>; rel=\"self\""
    )
  }

  @Test func `other places stay as they are`() throws {
    for place in [
      "https://elsewhere.test/x", "/relative", "../up", "https://localhost.evil.test/", "https://localhost:1/x",
      "http://localhost/x",
    ] {
      #expect(try answer { _ in "Location: \(place)\r\n" }["Location"] == place)
    }
    let longer = try answer { "Location: \($0)0/x\r\n" }
    #expect(longer["Location"] == "https://localhost:\(try Origin.shared().ports.https)0/x")
  }

  @Test func `the port of the match stays in the URL`() throws {
    #expect(try answer(match: "api.test:8080") { "Location: \($0)/x\r\n" }["Location"] == "http://api.test:8080/x")
  }

  @Test func `rewriting can be turned off`() throws {
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    let answer = try answer("rewrite: {location: false, link: false}") { "Location: \($0)/x\r\nLink: <\($0)/y>; rel=next\r\n" }
    #expect(answer["Location"] == "\(origin)/x")
    #expect(answer["Link"] == "<\(origin)/y>; rel=next")
  }

  @Test func `Secure is dropped from cookies only where that is asked for`() throws {
    let cookies = "Set-Cookie: a=b; Secure; HttpOnly; Path=/\r\nSet-Cookie: Secure=1; secure\r\n"
    let kept = try answer { _ in cookies }
    #expect(kept.all("Set-Cookie") == ["a=b; Secure; HttpOnly; Path=/", "Secure=1; secure"])
    let dropped = try answer("rewrite: {secure_cookies: true}") { _ in cookies }
    #expect(dropped.all("Set-Cookie") == ["a=b; HttpOnly; Path=/", "Secure=1"])
  }

  @Test func `redirects are relayed, never followed`() throws {
    let answer = try answer { "Location: \($0)/next\r\n" }
    #expect(answer.status == 302)
  }

  @Test func `below a wildcard they come to the host that was asked for`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let place = "https://localhost:\(origin.ports.https)"
    try origin.script(name, [.readBody, .send("HTTP/1.1 302 Found\r\nLocation: \(place)/next\r\nContent-Length: 0\r\n\r\n")])
    let configuration = try Configuration.https().replacingOccurrences(of: "match: api.test", with: "match: \"*.api.test\"")
    try withProxy(configuration) { proxy throws in
      #expect(try proxy.ask("http://one.api.test/?id=\(name)")["Location"] == "http://one.api.test/next")
    }
  }
}
