import Foundation
import Testing

/// Answers that say something about clock or keys.
@Suite struct SigV4AnswerTests {
  private static let keys = "service: sqs, region: eu-central-1, \(AWSServer.keys)"

  @Test(arguments: [-3_600, 3_600])
  func `a clock that is an hour off is corrected once, for that origin`(offset: Int) throws {
    let server = try AWSServer()
    try server.set(#"{"clock": \#(offset)}"#)
    try withProxy(server.configuration(Self.keys, top: "threads: 1")) { proxy throws in
      let client = try proxy.connect()
      for _ in 0..<2 {
        try client.send(ProxyProcess.request("POST", "http://api.test/", body: "hello"))
        #expect(try client.readAnswer().status == 200)
      }
      #expect(try server.seen().map(\.why) == ["time", "", ""])
    }
  }

  @Test func `every request that a wrong clock had refused goes once more, not the first alone`() throws {
    let server = try AWSServer()
    try server.set(#"{"clock": 3600, "gather": 8}"#)
    try withProxy(server.configuration(Self.keys, top: "threads: 1")) { proxy throws in
      #expect(try proxy.metric(#"authproxy_clock_skew_seconds{upstream="api.test"}"#) == nil)
      let clients = try (0..<8).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("POST", "http://api.test/", body: "hello")) }
      #expect(try clients.map { try $0.readAnswer().status } == Array(repeating: 200, count: 8))
      #expect(try server.seen().map(\.why) == Array(repeating: "time", count: 8) + Array(repeating: "", count: 8))
      let skew = try #require(try proxy.metric(#"authproxy_clock_skew_seconds{upstream="api.test"}"#))
      #expect(abs(skew - 3_600) < 10)
    }
  }

  @Test func `a Date that cannot be, or is not the origin's own, corrects nothing`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.keys, top: "threads: 1")) { proxy throws in
      for settings in [
        #""date": "Thu, 01 Jan 1970 00:00:00 GMT""#, #""date": """#, #""date": "soon""#,
        #""date": "Fri, 31 Dec 2099 00:00:00 GMT""#,
      ] {
        try server.set(#"{\#(settings), "answers": [[403, "application/xml", "<Error><Code>X</Code></Error>", []]]}"#)
        #expect(try proxy.ask("http://api.test/").status == 403, "\(settings)")
        #expect(try server.seen().count == 1, "\(settings)")
      }
    }
    let second = try AWSServer()
    try second.set(#"{"clock": 3600, "age": 1}"#)
    try withProxy(second.configuration(Self.keys)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 403)
      #expect(try second.seen().count == 1)
    }
    let third = try AWSServer()
    try third.set(
      #"{"clock": 3600, "answers": [[403, "application/json", "{\"__type\": \"AccessDeniedException\"}", []]]}"#)
    try withProxy(third.configuration(Self.keys)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 403)
      #expect(try third.seen().count == 1)
    }
  }

  @Test(arguments: [
    (400, "application/x-amz-json-1.1", #"{\"__type\": \"com.amazon.coral.service#ExpiredTokenException\"}"#, ""),
    (403, "application/xml", "<Error><Code>ExpiredToken</Code></Error>", ""),
    (403, "text/xml", "<ErrorResponse><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>", ""),
    (400, "text/plain", "x", #""x-amzn-ErrorType: UnrecognizedClientException:http://x""#),
  ])
  func `keys that are refused are read again, and the request goes once more`(
    status: Int, type: String, body: String, field: String
  ) throws {
    let server = try AWSServer()
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("old-5ecret\n", to: folder + "/key")
    let keys = "service: sqs, region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: {file: \(folder)/key}"
    try withProxy(server.configuration(keys, top: "watch_files: 1h")) { proxy throws in
      try ProxyProcess.write("shh-5ecret-key\n", to: folder + "/key")
      try server.set(#"{"answers": [[\#(status), "\#(type)", "\#(body)", [\#(field)]]]}"#)
      #expect(try proxy.ask("POST", "http://api.test/", body: "hello").status == 200)
      let seen = try server.seen()
      #expect(seen.count == 2 && seen[0].why.hasPrefix("signature") && seen[1].why == "")
      // Nothing is newer now: the answer is relayed.
      try server.set(#"{"answers": [[\#(status), "\#(type)", "\#(body)", [\#(field)]]]}"#)
      let answer = try proxy.ask("POST", "http://api.test/", body: "hello")
      #expect(answer.status == status)
      #expect(answer.proxyDetails?.contains("not retried") == true)
      #expect(try server.seen().count == 1)
    }
  }
}
