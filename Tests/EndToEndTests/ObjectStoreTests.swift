import Foundation
import Testing

/// An API answers with signed URLs of an object store, which refuses a second authentication beside the signature, as S3 does.
@Suite struct ObjectStoreTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  private var store: String { "https://\(Redirecting.cdn):\(world.port)" }

  @Test func `an app that cannot follow redirects puts and gets objects by signed URLs`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let (key, name) = ("folder/\(Origin.newName()).bin", Origin.newName())
      let content = String(repeating: "content ", count: 5_000)
      func url(_ query: String = "") -> String { "http://api.test/issue/\(key)?store=\(store)&name=\(name)\(query)" }
      let put = try proxy.ask("PUT", url(), ["Host: api.test", "Content-Type: text/plain"], body: content)
      #expect(put.status == 200, "\(put.head)\(put.text)")
      let answer = try proxy.ask("GET", url(), ["Host: api.test", "Range: bytes=0-"])
      #expect(answer.status == 200 && answer.text == content, "\(answer.text.prefix(200))")
      let head = try proxy.ask("HEAD", url(), ["Host: api.test"])
      #expect(head.status == 200 && head["Content-Length"] == "\(content.utf8.count)")
      let asked = try world.origin.exchanges(name)
      try #require(asked.map(\.method) == ["PUT", "GET", "HEAD"])
      for exchange in asked {
        #expect(exchange.tls?.sni == Redirecting.cdn && exchange["Authorization"] == nil && !exchange.hasSecret)
        #expect(exchange.target.contains("X-Amz-Signature="))
      }
      #expect(asked[0]["Content-Type"] == "text/plain" && asked[1]["Range"] == "bytes=0-")
    }
  }

  @Test func `with the API's credential the store would refuse`() throws {
    // Evidence that the store is strict: what the app sends itself reaches it, as its host is unlisted.
    try withProxy(world.configuration("relay", top: "unlisted_hosts: forward")) { proxy in
      let key = Origin.newName()
      let location = try #require(try proxy.ask("http://api.test/issue/\(key)?store=\(store)", ["Host: api.test"])["Location"])
      let refused = try proxy.ask(location, ["Authorization: Bearer mine"])
      #expect(refused.status == 400 && refused.text.contains("Only one auth mechanism allowed"))
      #expect(try proxy.ask(location).status == 404)
    }
  }

  @Test func `what the store refuses is the app's answer`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let answer = try proxy.ask("http://api.test/issue/none?store=\(store)", ["Host: api.test"])
      #expect(answer.status == 404 && answer.text.contains("NoSuchKey"))
      #expect(answer.details == "1 redirect followed, last to \(Redirecting.cdn):\(world.port)")
    }
  }
}
