import Foundation
import Testing

/// Requests that the proxy does not sign, and what it says of them.
@Suite struct SigV4RefusalTests {
  private static let s3 = "service: s3, region: eu-central-1, \(AWSServer.keys)"

  private func configuration(_ sigv4: String, origin: String, entry: String = "") -> String {
    """
    upstreams:
      - {match: api.test, origin: "\(origin)", credential: aws\(entry)}
    credentials:
      aws:
        allow_plaintext: true
        sigv4: {\(sigv4)}

    """
  }

  @Test func `what will not be signed costs neither a connection nor keys`() throws {
    // The container has no keys.
    let origin = try TestListener()
    for keys in [AWSServer.keys, "source: container"] {
      let text = configuration("service: [s3], region: [eu-central-1], \(keys)", origin: "http://127.0.0.1:\(origin.port)")
      try withProxy(text) { proxy throws in
        let twice = "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD"
        for (fields, status, error) in [
          ([AWSServer.dummy("sqs")], 403, "http_request_denied"),
          ([AWSServer.dummy("s3", "us-east-1")], 403, "http_request_denied"),
          (["Authorization: AWS4-ECDSA-P256-SHA256 Credential=a/20150830/s3/aws4_request"], 501, "http_request_error"),
          ([AWSServer.dummy("s3"), twice, twice], 400, "http_request_error"), ([], 502, "proxy_configuration_error"),
        ] {
          let answer = try proxy.ask("PUT", "http://api.test/", fields, body: "hello")
          expectOwnAnswer(answer, status, error)
        }
        #expect(proxy.process.awaitLine { $0.contains("service sqs is not in `service`") } != nil)
      }
    }
    #expect(origin.staysAlone(for: 0))
  }

  @Test func `a field that AWS reads is refused if it is written with an underscore`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.s3)) { proxy throws in
      for name in [
        "x-amz_content-sha256", "X_Amz_Content_Sha256", "x-amz-decoded_content-length", "x_amz-trailer", "Content_Type",
      ] {
        let answer = try proxy.ask("PUT", "http://api.test/k", ["\(name): UNSIGNED-PAYLOAD"], body: "hello")
        expectOwnAnswer(answer, 400, "http_request_error")
      }
      #expect(try server.seen().isEmpty)
      #expect(try proxy.ask("PUT", "http://api.test/k", ["X-Amz-Meta-A_b: c", "a_b: c"], body: "hello").status == 200)
      let seen = try #require(try server.seen().first)
      #expect(seen.why == "" && seen.all("X-Amz-Meta-A_b") == ["c"] && seen.all("a_b") == ["c"])
    }
  }

  @Test func `reject refuses every field that the signature writes, and no other`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.s3, entry: ", client_authorization: reject")) { proxy throws in
      for field in ["Authorization: Bearer x", "X-Amz-Date: 20260101T000000Z", "X-Amz-Security-Token: x", "x-amz_date: x"] {
        expectOwnAnswer(try proxy.ask("http://api.test/a", [field]), 403, "http_request_denied")
      }
      #expect(try server.seen().isEmpty)
      let answer = try proxy.ask(
        "http://api.test/a?X-Amz-Date=x", ["X-Amz-Meta-A: x", "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD"])
      #expect(answer.status == 200)
      #expect(try server.seen().map(\.why) == [""])
    }
  }

  @Test func `explain tells when an app's signature passes or is refused`() throws {
    let folder = try Surroundings.newFolder()
    let scope = "X-Amz-Credential=A%2F20150830%2Feu-central-1%2Fs3%2Faws4_request&X-Amz-Signature=00"
    for (handling, algorithm, expected) in [
      ("keep", "AWS4-HMAC-SHA256", "passes untouched"), ("keep", "AWS4-ECDSA-P256-SHA256", "passes untouched"),
      ("reject", "AWS4-HMAC-SHA256", "403"), ("replace", "AWS4-ECDSA-P256-SHA256", "501"),
      ("replace", "AWS4-HMAC-SHA256", "canonical request"),
    ] {
      let entry = ", client_authorization: \(handling)"
      try ProxyProcess.write(
        try ProxyProcess.complete(configuration(Self.s3, origin: "http://127.0.0.1:1", entry: entry)),
        to: folder + "/proxy.conf")
      let done = try ChildProcess.run(
        Surroundings.program,
        [
          "explain", "--sign", "--config", folder + "/proxy.conf", "GET",
          "http://api.test/a?X-Amz-Algorithm=\(algorithm)&\(scope)",
        ])
      #expect(done.output.flowed.contains(expected), "\(handling), \(algorithm): \(done.output)\(done.errors)")
      #expect(done.output.contains("canonical request") == (expected == "canonical request"), "\(done.output)")
    }
  }

  @Test func `Trailer does not go ahead of a body that was read whole and has a length`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration("service: sqs, region: eu-central-1, \(AWSServer.keys)")) { proxy throws in
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request(
          "POST", "http://api.test/", ["Transfer-Encoding: chunked", "Trailer: X-Sum", "X-Trailer: a", "trailer: X-More"]))
      try client.send("5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n")
      #expect(try client.readAnswer().status == 200)
      let seen = try #require(try server.seen().first)
      #expect(seen.why == "" && seen.all("Content-Length") == ["5"] && seen.all("Trailer").isEmpty)
      #expect(seen.all("X-Trailer") == ["a"] && seen.all("X-Sum").isEmpty)
    }
  }
}
