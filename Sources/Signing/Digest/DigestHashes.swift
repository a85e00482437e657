import Credentials
import Crypto

/// The hash functions of Digest, each made at its first use. For one thread.
public final class DigestHashes {
  private var functions: [DigestPolicy.Algorithm: HashFunction] = [:]

  public init() {}

  /// - Throws: OpenSSL does not have it.
  func callAsFunction(_ algorithm: DigestPolicy.Algorithm) throws(OpenSSLError) -> HashFunction {
    if let known = functions[algorithm] { return known }
    let function = try HashFunction(algorithm.function)
    functions[algorithm] = function
    return function
  }
}

extension DigestPolicy.Algorithm {
  fileprivate var function: HashFunction.Algorithm {
    switch self {
    case .sha512t256: .sha512t256
    case .sha256: .sha256
    case .md5: .md5
    }
  }
}

extension HashFunction {
  /// `H(a:b:c)` of RFC 7616 section 3.4.1, in hexadecimal.
  func joined(_ parts: [UInt8]...) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(parts.reduce(parts.count) { $0 + $1.count })
    for (index, part) in parts.enumerated() {
      if index > 0 { message.append(UInt8(ascii: ":")) }
      message += part
    }
    update(message)
    return finishHex()
  }

  /// In lower case.
  func finishHex() -> [UInt8] { Self.hex(finish()) }

  static func hex(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 2 * bytes.count) { digits, count in
      for byte in bytes {
        digits[count] = digit(byte >> 4)
        digits[count + 1] = digit(byte & 15)
        count += 2
      }
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
