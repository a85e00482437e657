import Testing

/// An upstream in a test about trust: the entry `NAME.test`, under a policy of that name.
struct TrustCase {
  let name: String
  let origin: String
  /// Lines of the policy, one evaluator each.
  let policy: [String]
  var entry: [String] = []

  init(_ name: String, _ origin: String, _ policy: [String], entry: [String] = []) {
    self.name = name
    self.origin = origin
    self.policy = policy
    self.entry = entry
  }

  static func configuration(_ cases: [TrustCase], top: String = "") -> String {
    var lines = [top, "upstreams:"]
    for item in cases {
      lines += ["  - match: \(item.name).test", "    origin: \(item.origin)", "    trust: \(item.name)"]
      lines += item.entry.map { "    " + $0 }
    }
    lines.append("trust:")
    for item in cases { lines += ["  \(item.name):"] + item.policy.map { "    " + $0 } }
    return lines.joined(separator: "\n") + "\n"
  }
}

extension ProxyProcess {
  func expectTrusted(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let answer = try ask("http://\(name).test/")
    #expect(answer.status == 200, "\(name): \(answer.head)", sourceLocation: sourceLocation)
  }

  /// - Parameter reason: evaluator and reason, as in the details of Proxy-Status.
  func expectRefused(_ name: String, _ reason: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let answer = try ask("http://\(name).test/")
    expectOwnAnswer(answer, 502, "tls_certificate_error", sourceLocation: sourceLocation)
    #expect(
      answer["Proxy-Status"]?.contains("details=\"\(reason)\"") == true, "\(name): \(answer.head)",
      sourceLocation: sourceLocation)
  }

  /// Number of log lines with this kind of warning.
  func warnings(_ kind: String) -> Int {
    process.lines.filter { $0.contains("trust policy warning") && $0.contains("\"kind\":\"\(kind)\"") }.count
  }

  /// Waits for the first such line.
  func awaitWarning(_ kind: String, sourceLocation: SourceLocation = #_sourceLocation) {
    let line = process.awaitLine { $0.contains("trust policy warning") && $0.contains("\"kind\":\"\(kind)\"") }
    #expect(line != nil, "no warning \(kind):\n\(tail)", sourceLocation: sourceLocation)
  }
}
