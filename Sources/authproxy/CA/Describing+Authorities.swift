import Interception
import Settings
import TLS

/// CAs as people compare them.
extension Describing {
  /// `AB:CD:...`, as browsers and OpenSSL print it.
  static func fingerprint(_ bytes: [UInt8]) -> String {
    bytes.map { String(UInt16($0) + 0x100, radix: 16, uppercase: true).dropFirst() }.joined(separator: ":")
  }

  static func certificate(_ certificate: Certificate, on page: inout Page) {
    page.heading(certificate.subject)
    page.row("issuer", certificate.issuer == certificate.subject ? "itself" : certificate.issuer)
    page.row("SHA-256", fingerprint(certificate.fingerprint))
    page.row(
      "valid",
      "from \(Days.date(certificate.notBefore)) to \(Days.date(certificate.notAfter)) "
        + "(\(Days.distance(certificate.notAfter)))")
    page.row("permits", permitted(certificate.nameConstraints))
  }

  static func permitted(_ constraints: NameConstraints?) -> String {
    guard let constraints, constraints.permitted != [] || constraints.excluded != [] else { return "every name" }
    let excluded = constraints.excluded.compactMap(subtree)
    let known = constraints.permitted.compactMap(subtree)
    return (known.isEmpty ? "every name" : known.joined(separator: ", "))
      + (excluded.isEmpty ? "" : ", but not \(excluded.joined(separator: ", "))")
      + (constraints.isCritical ? "" : " (not critical: an app may ignore it)")
  }

  /// nil: it permits only what cannot be.
  private static func subtree(_ subtree: NameConstraints.Subtree) -> String? {
    switch subtree {
    case .dns("invalid"), .other: nil
    case .dns(""): "every DNS name"
    case .dns(let name): name.hasPrefix(".") ? "names below \(name.dropFirst())" : "\(name) and names below it"
    case .addresses(let network, let mask):
      network.allSatisfy { $0 == 0xFF } ? nil : address(network) + (mask.allSatisfy { $0 == 0xFF } ? "" : "/\(bits(mask))")
    }
  }

  private static func address(_ bytes: [UInt8]) -> String {
    bytes.count == 4 ? IPAddress.text(IPAddress.mapped(bytes)) : IPAddress.text(v6: bytes)
  }

  private static func bits(_ mask: [UInt8]) -> Int { mask.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// Who signs for a host, or what will be done about it.
  static func signer(of name: SignedName, _ intercept: InterceptSettings, at now: Int64) -> String {
    if let authority = intercept.authorities.signer(for: name, at: now) { return self.authority(authority) }
    switch intercept.source {
    case .files: return "NOBODY: no CA permits it"
    case .generated(let folder): return "a CA that the proxy makes in \(folder) when it starts"
    case .memory: return "a CA that the proxy makes when it starts, in memory"
    }
  }

  static func authority(_ authority: SigningCA) -> String {
    "\(authority.chain[0].subject), SHA-256 \(fingerprint(Array(authority.fingerprint.prefix(8))))..., "
      + "until \(Days.date(authority.notAfter))"
  }
}
