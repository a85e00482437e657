import Foundation
import Testing

/// Who steals `issuer.key` can be the hosts that the CA was made for, and nobody else, whatever library an app verifies with.
@Suite struct PeerStolenKeyTests {
  @Test(.needs("openssl")) func `OpenSSL obeys the constraints`() throws {
    try obeys("permitted subtree violation", #""$PEERS/judge/judge.sh" openssl "$ROOTS" "$@""#)
  }

  @Test(.needs("gnutls-cli")) func `GnuTLS obeys the constraints`() throws {
    try obeys("constraints", #""$PEERS/judge/judge.sh" gnutls "$ROOTS" "$@""#)
  }

  @Test(.needs("go")) func `Go obeys the constraints`() throws {
    try obeys("is not permitted by any constraint", #""$BUILT/judge" "$ROOTS" "$@""#)
  }

  @Test(.needs("javac")) func `Java obeys the constraints`() throws {
    try obeys(
      "name constraints",
      #"""
      keytool -importcert -noprompt -alias root -file "$ROOTS" -keystore "$STORE" -storepass changeit 2> /dev/null
      java -Djavax.net.ssl.trustStore="$STORE" -Djavax.net.ssl.trustStorePassword=changeit -cp "$BUILT" Judge "$@"
      """#)
  }

  @Test(.needs("node")) func `Node obeys the constraints`() throws {
    try obeys("permitted subtree violation", #"NODE_EXTRA_CA_CERTS="$ROOTS" node "$PEERS/judge/judge.js" "$@""#)
  }

  @Test func `Python obeys the constraints`() throws {
    try obeys("permitted subtree violation", #""$PYTHON" "$PEERS/judge/judge.py" "$ROOTS" "$@""#)
  }

  /// What a thief signs. Those that a CA permits are accepted, to show that nothing else is wrong with the others.
  static let leafs = [
    "DNS:api.example.test", "DNS:deep.api.example.test", "IP:192.0.2.10", "IP:2001:db8::10",
    // A sibling, a name that only ends like it, one above it, another name, and that beside a permitted one.
    "DNS:other.example.test", "DNS:xapi.example.test", "DNS:example.test", "DNS:other.test",
    "DNS:api.example.test,DNS:other.test", "IP:192.0.2.11", "IP:127.0.0.1", "IP:0.0.0.0", "IP:255.255.255.254",
    "IP:2001:db8::11", "IP:::1", "IP:::ffff:192.0.2.10", "IP:ffff::1", "IP:fe80::1", "IP:2001:db8:1::10",
  ]

  private static let permits = [
    ["api.example.test", "192.0.2.10", "2001:db8::10"], ["api.example.test"], ["192.0.2.10"], ["2001:db8::10"],
  ]
  private static let stolen = permits.map { permits in Result { try StolenKey(permits: permits, leafs: leafs) } }

  /// - Parameters:
  ///   - command: see `StolenKey.judged`.
  ///   - reason: what it says of a name that the constraints do not permit.
  private func obeys(_ reason: String, _ command: String) throws {
    for (permits, stolen) in zip(Self.permits, Self.stolen) {
      var surprises: [String] = []
      for (leaf, said) in zip(Self.leafs, try stolen.get().judged(by: command)) {
        let isAsPromised =
          Self.isPermitted(leaf, by: permits) ? said == "accepted" : said.hasPrefix("refused") && said.contains(reason)
        if !isAsPromised { surprises.append("\(leaf) \(said)") }
      }
      #expect(surprises.isEmpty, "\(permits)")
    }
  }

  private static func isPermitted(_ leaf: String, by permits: [String]) -> Bool {
    permits.contains { leaf == "DNS:\($0)" || leaf == "IP:\($0)" || leaf.hasPrefix("DNS:") && leaf.hasSuffix(".\($0)") }
      && !leaf.contains(",")
  }
}
