import Crypto

/// The key that signs for one day, region and service. Confined to one thread.
public final class SigningKey {
  private let context: HMACContext

  public init(secret: [UInt8], for scope: SigningScope, on day: ArraySlice<UInt8>) throws(OpenSSLError) {
    var key = Array("AWS4".utf8) + secret
    key = try HMACSHA256.code(of: Array(day), key: key)
    key = try HMACSHA256.code(of: scope.region, key: key)
    key = try HMACSHA256.code(of: scope.service, key: key)
    context = try HMACContext(key: try HMACSHA256.code(of: Array("aws4_request".utf8), key: key))
  }

  /// 64 lower-case hexadecimal digits.
  func sign(_ text: [UInt8]) throws(OpenSSLError) -> [UInt8] {
    var signature: [UInt8] = []
    signature.reserveCapacity(64)
    signature.append(hex: try context.code(of: text))
    return signature
  }
}

extension SigningKey: CustomStringConvertible, CustomReflectable {
  public var description: String { "<signing key>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Signing keys of one pair of AWS keys, those in use first.
public struct SigningKeys {
  private static let kept = 32

  private let secret: [UInt8]
  private var keys: [(scope: SigningScope, day: [UInt8], key: SigningKey)] = []

  public init(secret: [UInt8]) { self.secret = secret }

  public mutating func key(for scope: SigningScope, at time: SigningTime) throws(OpenSSLError) -> SigningKey {
    if let index = keys.firstIndex(where: { $0.scope == scope && time.day.elementsEqual($0.day) }) {
      if index > 0 { keys.swapAt(index, index - 1) }
      return keys[max(index - 1, 0)].key
    }
    let key = try SigningKey(secret: secret, for: scope, on: time.day)
    if keys.count == Self.kept { keys.removeLast() }
    keys.insert((scope, Array(time.day), key), at: 0)
    return key
  }
}

extension SigningKeys: CustomStringConvertible, CustomReflectable {
  public var description: String { "<signing keys>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
