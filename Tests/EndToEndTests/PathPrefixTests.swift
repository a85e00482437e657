import Foundation
import Testing

/// Entries for parts of a host: whole segments, the most specific wins, and no spelling evades them.
@Suite struct PathPrefixTests {
  private func configuration() throws -> String {
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    return """
      upstreams:
        - match: api.test
          origin: \(origin)
        - match: api.test/v1
          origin: \(origin)
          credential: one
        - match: api.test/v1/admin
          origin: \(origin)
          credential: admin
        - match: free.test
          origin: \(origin)
      credentials:
        one: {bearer: {token: one-5ecret}}
        admin: {bearer: {token: admin-5ecret}}
      """
  }

  @Test func `whole segments match, and the most specific entry wins`() throws {
    let origin = try Origin.shared()
    try withProxy(try configuration()) { proxy in
      each(
        [
          ("/", nil), ("/v1", "one"), ("/v1/", "one"), ("/v1/x", "one"), ("/v1?x", "one"), ("/v10", nil), ("/v1x/y", nil),
          ("/V1", nil),
          ("/v1/admin", "admin"), ("/v1/admin/x", "admin"), ("/v1/administrator", "one"), ("/x/v1", nil),
        ] as [(String, String?)]
      ) { (path, credential) throws in
        let name = Origin.newName()
        let separator = path.contains("?") ? "&" : "?"
        #expect(try proxy.ask("http://api.test\(path)\(separator)id=\(name)").status == 200)
        #expect(try origin.exchanges(name)[0]["Authorization"] == credential.map { "Bearer \($0)-5ecret" }, "\(path)")
      }
    }
  }

  @Test func `paths with two readings are 400 on a host that has prefixes, and pass elsewhere`() throws {
    let origin = try Origin.shared()
    try withProxy(try configuration()) { proxy throws in
      each([
        "/v1/../x", "/v1/./x", "/v1/..", "/./v1", "/../v1", "/v1/%2e%2e/x", "/v1/%2E./x", "/v1/.%2e", "/v1/%2e/x", "/v1%2fx",
        "/v1%2Fx",
        "/v1\\x", "/v1/%5c..%5cx", "//v1/x", "/v1//x", "/v1//",
      ]) { path in
        let name = Origin.newName()
        let answer = try proxy.ask("http://api.test\(path)?id=\(name)")
        #expect(answer.status == 400, "\(path): \(answer.head)")
        #expect(try origin.exchanges(name).isEmpty, "\(path)")
      }
      each(["/v1/../x", "//v1", "/a%2fb", "/a/%2e%2e", "/%61;b", "/a%3bb", "/%2561"]) { path throws in
        let name = Origin.newName()
        #expect(try proxy.ask("http://free.test\(path)?id=\(name)").status == 200, "\(path)")
        #expect(try origin.exchanges(name)[0].target == "\(path)?id=\(name)")
      }
      // As an origin may read them, these belong to /v1/admin.
      each([
        "/v1/%61dmin/x", "/%76%31/admin/x", "/v1/admi%6E", "/v1/admi%6e/x", "/v1/admin;a=b/x", "/v1;a/admin/x",
        "/v1/admin%3b/x",
        "/v1/admin%3Ba=b/x", "/v1/%2561dmin/x", "/v1/admin%00", "/v1/admin%253fx", "/v1/x/%252e%252e/admin", "/v1%252fadmin/x",
        "/%25252525252561",
      ]) { path in
        let name = Origin.newName()
        let answer = try proxy.ask("http://api.test\(path)?id=\(name)")
        expectOwnAnswer(answer, 400, "http_request_error")
        #expect(try origin.exchanges(name).isEmpty, "\(path)")
      }
      // These go where they were meant to go.
      each([("/v1/x;a=b/%41", "one"), ("/v1/admin/%41;a", "admin"), ("/x%20y;v1", nil)] as [(String, String?)]) {
        (path, credential) throws in
        let name = Origin.newName()
        #expect(try proxy.ask("http://api.test\(path)?id=\(name)").status == 200, "\(path)")
        let received = try origin.exchanges(name)[0]
        #expect(received.target == "\(path)?id=\(name)")
        #expect(received["Authorization"] == credential.map { "Bearer \($0)-5ecret" }, "\(path)")
      }
      // A query is not part of the path.
      #expect(try proxy.ask("http://api.test/v1/x?to=/../%2f//").status == 200)
    }
  }
}
