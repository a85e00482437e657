import Crypto

/// A credential that signs a message made of the request's parts with a shared key.
public struct HMACPolicy: Sendable, Hashable {
  public enum Algorithm: String, Sendable, Hashable, CaseIterable { case sha1, sha256, sha384, sha512 }
  public enum Output: String, Sendable, Hashable, CaseIterable { case hex, base64, base64url }
  public enum Timestamp: String, Sendable, Hashable, CaseIterable {
    case unix
    case unixMilliseconds = "unix_ms"
    case iso8601
    case httpDate = "http_date"
  }
  /// How the key is written.
  public enum KeyEncoding: String, Sendable, Hashable, CaseIterable {
    case text, base64, hex

    /// nil: it is not in this encoding.
    public func decode(_ written: Secret) -> Secret? {
      switch self {
      case .text: return written.isEmpty ? nil : written
      case .base64:
        guard let bytes = Base64.decode(written.bytes) ?? Base64.decodeURL(written.bytes), !bytes.isEmpty else { return nil }
        return Secret(bytes)
      case .hex:
        guard !written.isEmpty, written.bytes.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: written.bytes.count, by: 2) {
          guard let high = Self.digit(written.bytes[index]), let low = Self.digit(written.bytes[index + 1]) else { return nil }
          bytes.append(high << 4 | low)
        }
        return Secret(bytes)
      }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
      default: nil
      }
    }
  }
  /// A placeholder of the credential's own.
  public struct Value: Sendable, Hashable {
    public let name: String
    public let value: Secret
    public init(name: String, value: Secret) {
      self.name = name
      self.value = value
    }
  }
  /// A field that the signature writes.
  public struct SignedField: Sendable, Hashable {
    public let name: String
    public let value: MessageTemplate
    public init(name: String, value: MessageTemplate) {
      self.name = name
      self.value = value
    }
  }

  /// Decoded.
  public let key: Secret
  /// As the source has it.
  public let keyEncoding: KeyEncoding
  public let algorithm: Algorithm
  public let message: MessageTemplate
  public let output: Output
  public let timestamp: Timestamp
  public let values: [Value]
  /// In the order of the configuration.
  public let fields: [SignedField]

  public init(
    key: Secret, keyEncoding: KeyEncoding = .text, algorithm: Algorithm = .sha256, message: MessageTemplate,
    output: Output = .hex, timestamp: Timestamp = .unix, values: [Value] = [], fields: [SignedField]
  ) {
    self.key = key
    self.keyEncoding = keyEncoding
    self.algorithm = algorithm
    self.message = message
    self.output = output
    self.timestamp = timestamp
    self.values = values
    self.fields = fields
    needsBody = message.needsBody || fields.contains { $0.value.needsBody }
  }

  /// A body's bytes or hash are in the message or a field.
  public let needsBody: Bool

  /// The field with the signature, first of those that have it: by it, an app's own signature is known.
  public var signatureField: String { (fields.first { $0.value.pieces.contains(.signature) } ?? fields.first)?.name ?? "" }

  /// The same with what its sources have now.
  /// - Parameters:
  ///   - key: as written.
  ///   - values: by name.
  /// - Returns: nil: the key is not in its encoding, or a field cannot have a value.
  public func replacing(key: Secret, values: [String: Secret]) -> HMACPolicy? {
    guard let key = keyEncoding.decode(key) else { return nil }
    let replaced = self.values.map { Value(name: $0.name, value: values[$0.name] ?? $0.value) }
    let policy = HMACPolicy(
      key: key, keyEncoding: keyEncoding, algorithm: algorithm, message: message, output: output, timestamp: timestamp,
      values: replaced, fields: fields)
    return policy.unwritableValue == nil ? policy : nil
  }

  /// The first value that a field takes but cannot have (RFC 9110 section 5.5).
  public var unwritableValue: String? {
    for field in fields {
      for case .value(let index) in field.value.pieces
      where values[index].value.bytes.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7f }) {
        return values[index].name
      }
    }
    return nil
  }
}
