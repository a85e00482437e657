import Crypto
import TLS

/// A root and the issuer below it, made for certain hosts. The root's key is gone with the call that made it.
public struct LocalAuthority: Sendable {
  /// What apps trust.
  public let root: Certificate
  /// What signs leafs.
  public let issuer: Certificate
  public let key: PrivateKey

  /// Bytes of the name, so that it leaves room in a common name (at most 64, RFC 5280 appendix A.1).
  public static let longestName = 40
  public static let standardName = "authproxy"
  public static let standardDays = 730

  /// - Parameters:
  ///   - hosts: names, a name standing for itself and all below it, and addresses.
  ///   - name: what both subjects begin with, at most `longestName` bytes.
  ///   - now: seconds since 1970.
  public static func create(
    for hosts: [PeerName], name: String = standardName, days: Int = standardDays, now: Int64
  ) throws(OpenSSLError) -> LocalAuthority {
    let constraints = NameConstraints(hosts: hosts)
    let rootKey = try PrivateKey.generateP256()
    let key = try PrivateKey.generateP256()
    // Two authorities of one name would be one issuer to verifiers that look for it by its name.
    let mark = SHA256.digest(rootKey.publicKeyInfo).prefix(4).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
      .joined()
    func builder(_ kind: String, pathLength: Int) -> CertificateBuilder {
      var builder = CertificateBuilder.authority("\(name) \(kind) \(mark)", pathLength: pathLength)
      builder.notBefore = now - 3600
      builder.notAfter = now + Int64(days) * 86_400
      builder.constraints = constraints
      return builder
    }
    let root = try builder("root", pathLength: 1).selfSigned(with: rootKey)
    var below = builder("issuer", pathLength: 0)
    below.purposes = [.serverAuth]
    return LocalAuthority(root: root, issuer: try below.issued(to: key, by: root, rootKey), key: key)
  }
}

extension NameConstraints {
  /// These hosts and no others. Only permitted subtrees, on every form and family: Java throws where an IPv4 name meets an excluded
  /// `::/0`, and GnuTLS lets IPv4 names pass if only IPv6 is permitted. What has no host permits one thing that cannot be.
  init(hosts: [PeerName]) {
    var names: [Subtree] = []
    var v4: [Subtree] = []
    var v6: [Subtree] = []
    for host in hosts {
      switch host.address {
      case nil: names.append(.dns(host.text))
      case let address? where address.count == 4: v4.append(.address(address))
      case let address?: v6.append(.address(address))
      }
    }
    if names.isEmpty { names = [.dns("invalid")] }
    if v4.isEmpty { v4 = [.address([UInt8](repeating: 0xFF, count: 4))] }
    if v6.isEmpty { v6 = [.address([UInt8](repeating: 0xFF, count: 16))] }
    self.init(permitted: names + v4 + v6)
  }
}
