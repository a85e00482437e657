import Foundation
import Testing

/// What an https:// parent sees of this proxy, and that connections through it belong to who asked.
@Suite struct ParentIdentityTests {
  private func configuration(
    _ parent: ParentServer, _ world: TrustWorld, keys: String, user: String = "one"
  ) throws -> String {
    """
    threads: 1
    via: corporate
    parents: {corporate: {url: "\(parent.url("https"))", trust: corporate, credential: proxy-login\(keys)}}
    upstreams: [{match: api.test, origin: "https://localhost:\(try Origin.shared().ports.https)"}]
    credentials: {proxy-login: {basic: {username: \(user), password: pw-5ecret}}}
    trust:
      default:
        - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}
      corporate:
        \(world.root)

    """
  }

  private func certificate(_ world: TrustWorld) -> String {
    ", client_certificate: {certificate: \(world.file("client.pem")), key: {file: \(world.file("client.key"))}}"
  }

  @Test func `it gets the client certificate that it asks for, and HTTP/1.1 is what is offered`() throws {
    let world = try TrustWorld.shared()
    let parent = try ParentServer(world.folder)
    try withProxy(try configuration(parent, world, keys: certificate(world))) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").status == 200, "\(proxy.tail)")
      let asked = try #require(try parent.asked().first)
      #expect(asked.certificate == "client")
      #expect(asked.alpn == "http/1.1")
    }
    try withProxy(try configuration(parent, world, keys: "")) { proxy throws in
      _ = try parent.news()
      #expect(try proxy.ask("http://api.test/echo").status == 200)
      let asked = try #require(try parent.asked().first)
      #expect(asked.certificate == nil)
    }
  }

  @Test(arguments: ["user", "certificate", "trust"])
  func `a tunnel that was opened as somebody else is not used again`(_ change: String) throws {
    let world = try TrustWorld.shared()
    let parent = try ParentServer(world.folder)
    let text = try configuration(parent, world, keys: "")
    var next = text
    switch change {
    case "user": next = try configuration(parent, world, keys: "", user: "two")
    case "certificate": next = try configuration(parent, world, keys: certificate(world))
    default: next += "    - pinned_public_keys: {pins: [\"\(try world.pin("good"))\", \"\(try world.pin("backup"))\"]}\n"
    }
    try withProxy(text) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://api.test/echo").status == 200, "\(proxy.tail)") }
      #expect(try parent.asked().count == 1)
      try proxy.reload(next)
      for _ in 0..<2 { #expect(try proxy.ask("http://api.test/echo").status == 200, "\(proxy.tail)") }
      let asked = try parent.asked()
      #expect(asked.count == 2)
      #expect(Set(asked.map(\.connection)).count == 2)
    }
  }
}
