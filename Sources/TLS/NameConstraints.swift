import COpenSSL

/// Which names certificates below an authority may have (RFC 5280 section 4.2.1.10).
public struct NameConstraints: Sendable, Hashable {
  public enum Subtree: Sendable, Hashable {
    /// Lower-case: the name itself and all names below it. With a leading dot only those below it. Empty: every name.
    case dns(String)
    /// 4 bytes each for IPv4, 16 for IPv6.
    case addresses(network: [UInt8], mask: [UInt8])
    /// A form that no TLS server's name has, or one that cannot be read.
    case other
  }

  /// If it has subtrees of a form, a name of this form must be in one of them. IPv4 and IPv6 are one form.
  public var permitted: [Subtree]
  public var excluded: [Subtree]
  /// An implementation that does not know the extension must refuse the certificate.
  public var isCritical: Bool

  public init(permitted: [Subtree] = [], excluded: [Subtree] = [], isCritical: Bool = true) {
    self.permitted = permitted
    self.excluded = excluded
    self.isCritical = isCritical
  }

  var isEmpty: Bool { permitted.isEmpty && excluded.isEmpty }

  /// In the words of OpenSSL's configuration.
  var text: String {
    let subtrees = permitted.map { "permitted;" + $0.text } + excluded.map { "excluded;" + $0.text }
    return (isCritical ? "critical," : "") + subtrees.joined(separator: ",")
  }
}

extension NameConstraints.Subtree {
  /// One address.
  public static func address(_ address: [UInt8]) -> NameConstraints.Subtree {
    .addresses(network: address, mask: address.map { _ in 0xFF })
  }

  fileprivate var text: String {
    switch self {
    case .dns(let name): "DNS:" + name
    case .addresses(let network, let mask): "IP:" + Self.text(network) + "/" + Self.text(mask)
    case .other: ""
    }
  }

  private static func text(_ address: [UInt8]) -> String {
    if address.count == 4 { return address.map(String.init).joined(separator: ".") }
    return stride(from: 0, to: address.count, by: 2).map { index in
      String(address[index...].prefix(2).reduce(0) { $0 << 8 | UInt32($1) }, radix: 16)
    }.joined(separator: ":")
  }

  /// - Parameter element: a GENERAL_SUBTREE.
  fileprivate init(_ element: UnsafeMutableRawPointer) {
    let subtree = element.assumingMemoryBound(to: GENERAL_SUBTREE.self).pointee
    var type: Int32 = 0
    guard let value = GENERAL_NAME_get0_value(subtree.base, &type) else {
      self = .other
      return
    }
    let content = bytes(of: UnsafePointer(value.assumingMemoryBound(to: ASN1_STRING.self)))
    switch type {
    case GEN_DNS: self = .dns(String(decoding: content, as: UTF8.self).lowercased())
    case GEN_IPADD where content.count == 8 || content.count == 32:
      self = .addresses(network: Array(content[..<(content.count / 2)]), mask: Array(content[(content.count / 2)...]))
    default: self = .other
    }
  }
}

extension Certificate {
  /// Whether it has name constraints that cannot be read, or more than one extension of them.
  public var hasUnreadableNameConstraints: Bool {
    X509_get_ext_by_NID(pointer, NID_name_constraints, -1) >= 0 && nameConstraints == nil
  }

  /// Nil if it has none, or none that can be read.
  public var nameConstraints: NameConstraints? {
    defer { ERR_clear_error() }
    var critical: Int32 = 0
    guard let object = X509_get_ext_d2i(pointer, NID_name_constraints, &critical, nil) else { return nil }
    let constraints = object.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
    defer { NAME_CONSTRAINTS_free(constraints) }
    func subtrees(_ stack: OpaquePointer?) -> [NameConstraints.Subtree] {
      stack?.stackElements().map { NameConstraints.Subtree($0) } ?? []
    }
    return NameConstraints(
      permitted: subtrees(constraints.pointee.permittedSubtrees), excluded: subtrees(constraints.pointee.excludedSubtrees),
      isCritical: critical == 1)
  }
}
