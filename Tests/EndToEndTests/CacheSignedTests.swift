import Foundation
import Testing

/// Entries that sign each request.
@Suite struct CacheSignedTests {
  @Test func `a fetch is signed, a hit is not, and the app's own dummy signature tells nothing apart`() throws {
    let server = try AWSServer()
    let entry = ", cache: {default_ttl: 10m}"
    try withProxy(server.configuration("service: s3, region: eu-central-1, \(AWSServer.keys)", entry: entry)) { proxy throws in
      func isHit(_ target: String, _ fields: String...) throws -> Bool {
        let answer = try proxy.ask("http://api.test" + target, fields)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.cacheStatus?.hasPrefix("hit") == true
      }
      #expect(try !isHit("/bucket/key?versionId=1"))
      let fetched = try server.seen()
      #expect(fetched.count == 1 && fetched[0].why == "" && fetched[0].all("Authorization").count == 1)
      #expect(try isHit("/bucket/key?versionId=1"))
      for date in ["20150830T000000Z", "20150830T000001Z"] {
        #expect(try isHit("/bucket/key?versionId=1", AWSServer.dummy("s3"), "X-Amz-Date: \(date)"))
      }
      #expect(try server.seen().isEmpty)
      #expect(try !isHit("/bucket/key?versionId=2"))
      // What is signed, but not written by us, counts.
      #expect(try !isHit("/bucket/key?versionId=1", "x-amz-meta-a: b"))
      let others = try server.seen()
      #expect(others.map(\.why) == ["", ""])
      #expect(try proxy.metric("authproxy_cache_objects") == 3)
    }
  }

  @Test func `other keys find nothing of what was stored for these`() throws {
    let server = try AWSServer()
    try server.set(#"{"keys": {"AKIDEXAMPLE": ["shh-5ecret-key", null], "AKIDOTHER": ["other-5ecret-key", null]}}"#)
    func text(_ keys: String) -> String {
      server.configuration("service: s3, region: eu-central-1, \(keys)", entry: ", cache: {default_ttl: 10m}")
    }
    try withProxy(text(AWSServer.keys)) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://api.test/b/k").status == 200) }
      #expect(try server.seen().count == 1)
      try proxy.reload(text("access_key_id: AKIDOTHER, secret_access_key: other-5ecret-key"))
      #expect(try proxy.ask("http://api.test/b/k").cacheStatus == "fwd=uri-miss; stored")
      #expect(try server.seen().count == 1)
    }
  }
}
