import Foundation
import Testing

/// `authproxy demo`, which newcomers see first.
@Suite struct DemoCommandTests {
  @Test func `demo --once shows the credential at the API, the revoked token and the request sent again`() throws {
    let done = try ChildProcess.run(Surroundings.program, ["demo", "--once"])
    #expect(done.status == .exited(0), "\(done.output)\(done.errors)")
    let events = [
      "issues token 1", "GET /hello with token 1: 200",
      "GET /revoke with token 1: 200",
      "GET /hello with token 1, which was revoked: 401", "issues token 2", "GET /hello with token 2: 200",
      "issues token 3", "has a new connection, for HTTP/2",
      "GET /picture with no answer: 401", "GET /picture with answer 1 to its nonce: 200",
      "PUT /note with 3 signed chunks: 200", "GET /note with a good signature: 200", "200: a note in signed chunks",
      "GET /prices with token", "49 requests: 200, all with the answer to that one", "stored answer",
      "POST /prices with token",
      "edition 2",
      "is REVOKED", "502 by the proxy", "403 by the proxy",
    ]
    var rest = done.output[...]
    for event in events {
      let place = rest.range(of: event)
      #expect(place != nil, "\(event) in its turn: \(done.output)")
      if let place { rest = rest[place.upperBound...] }
    }
  }

  @Test func `what demo prints fits into 80 columns`() throws {
    let done = try ChildProcess.run(Surroundings.program, ["demo", "--once"])
    let wide = done.output.split(separator: "\n").filter { $0.count > 80 }
    #expect(wide.isEmpty, "\(wide)")
  }

  @Test func `demo serves the curl lines that it proposes until Ctrl-C`() throws {
    let demo = try ChildProcess(Surroundings.program, ["demo"])
    defer { demo.signal(SIGKILL) }
    let line = try #require(demo.awaitLine(where: { $0.contains("export http_proxy=") }), "\(demo.output)\(demo.errors)")
    let proxy = String(line.split(separator: "=")[1].split(separator: " ")[0])
    _ = demo.awaitLine(where: { $0.contains("Ctrl-C") })
    let proposed = demo.lines.compactMap { line in line.split(separator: " ").first == "curl" ? line : nil }
    #expect(proposed.contains { $0.contains("https://") } && proposed.count >= 4)
    for command in proposed {
      let done = try ChildProcess.run(
        "/bin/sh", ["-c", command.trimmingCharacters(in: .whitespaces) + " -sS -w '%{http_code}'"],
        environment: ["http_proxy": proxy, "https_proxy": proxy, "no_proxy": "", "NO_PROXY": ""])
      // Nobody has logged in.
      let hasNone = command.contains("//retired.") || command.contains("//mail.")
      let expected = command.contains("//other.") ? "403" : hasNone ? "502" : "200"
      #expect(done.output.hasSuffix(expected), "\(command): \(done.output)\(done.errors)")
    }
    #expect(demo.awaitLine(where: { $0.contains("API") && $0.contains("GET /hello with token 1: 200") }) != nil)
    // The check for changes, after 10 s, finds its files.
    #expect(demo.awaitLine(seconds: 12, where: { $0.contains("cannot be read") }) == nil, "\(demo.output)")
    demo.signal(SIGINT)
    #expect(demo.awaitEnd(seconds: 5) == .exited(0))
    let folder = try #require(demo.output.firstMatch(of: #/publish: ([^}\n]+)/#)).1
    #expect(!FileManager.default.fileExists(atPath: String(folder)), "\(folder)")
  }

  @Test func `the demo's store refuses what is not signed with its key, and each chunk with another signature`() throws {
    let demo = try ChildProcess(Surroundings.program, ["demo"])
    defer { demo.signal(SIGKILL) }
    _ = try #require(demo.awaitLine(where: { $0.contains("Ctrl-C") }), "\(demo.output)\(demo.errors)")
    let origin = try #require(demo.output.firstMatch(of: #/store\.demo\.internal\n +origin: (\S+)/#)).1
    let folder = try #require(demo.output.firstMatch(of: #/(\/\S+)\/proxy\.conf/#)).1
    let key = try String(contentsOfFile: "\(folder)/aws_key", encoding: .utf8)
    func ask(_ payload: String, _ more: String..., key: String? = nil, id: String = "DEMOKEY") throws -> String {
      let signing = key.map { ["--aws-sigv4", "aws:amz:eu-central-1:s3", "--user", "\(id):\($0)"] } ?? []
      return try ChildProcess.run(
        "curl", ["-sSk", "--noproxy", "*", "-H", "X-Amz-Content-Sha256: \(payload)"] + signing + more + ["\(origin)/x"]
      ).output
    }
    #expect(try ask("UNSIGNED-PAYLOAD").contains("AccessDenied"))
    #expect(try ask("UNSIGNED-PAYLOAD", key: "guess").contains("SignatureDoesNotMatch"))
    #expect(try ask("UNSIGNED-PAYLOAD", key: key, id: "OTHER").contains("InvalidAccessKeyId"))
    #expect(try ask("UNSIGNED-PAYLOAD", "-X", "PUT", "-d", "hello", key: key).contains("stored"))
    #expect(try ask("UNSIGNED-PAYLOAD", key: key) == "hello")
    let hash = String(repeating: "0", count: 64)
    #expect(try ask(hash, "-X", "PUT", "-d", "hello", key: key).contains("XAmzContentSHA256Mismatch"))
    let chunks = AWSServer.chunks(["hello"])
    let answer = try ask(
      "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "-X", "PUT", "-H", "X-Amz-Decoded-Content-Length: 5", "--data-binary", chunks,
      key: key)
    #expect(answer.contains("a wrong signature of chunk 1"), "\(answer)")
    #expect(try ask("UNSIGNED-PAYLOAD", key: key) == "hello")
  }

  @Test func `a demo that is ended early, or cannot start, leaves nothing behind`() throws {
    let folder = try Surroundings.newFolder()
    let demo = try ChildProcess(Surroundings.program, ["demo", "--once"], environment: ["TMPDIR": folder])
    defer { demo.signal(SIGKILL) }
    _ = try #require(demo.awaitLine(where: { $0.contains("http_proxy=") }), "\(demo.output)\(demo.errors)")
    #expect(try Authority.names(folder).count == 1)
    demo.signal(SIGINT)
    #expect(demo.awaitEnd(seconds: 5) == .exited(130))
    #expect(try Authority.names(folder).isEmpty)
    // Files of at most 1 KiB: no room for a bundle of roots.
    let failed = try ChildProcess.run(
      "bash", ["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "bash", Surroundings.program, "demo", "--once"],
      environment: ["TMPDIR": folder])
    #expect(failed.status == .exited(70) && failed.errors.contains("the demo cannot start"), "\(failed.errors)")
    #expect(try Authority.names(folder).isEmpty)
  }
}
