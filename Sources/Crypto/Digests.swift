import COpenSSL

public enum SHA256 {
  /// Fetched once: to find it takes longer than to hash a short text. nil: the libraries have none, and nothing works.
  // SAFETY: OpenSSL never changes it, and counts its users atomically.
  nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

  /// 32 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { digest($0) }
  }

  /// Over all parts, each preceded by its length (4 bytes, big-endian), so that different lists of parts are different
  /// messages.
  public static func digest(parts: [[UInt8]]) -> [UInt8] {
    var message: [UInt8] = []
    for part in parts {
      for shift in stride(from: 24, through: 0, by: -8) { message.append(UInt8(truncatingIfNeeded: part.count >> shift)) }
      message += part
    }
    return digest(message)
  }

  public static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      let isDone = EVP_Digest(bytes.baseAddress, bytes.count, buffer.baseAddress, nil, algorithm, nil) == 1
      // Without memory for a context. Nothing must be taken for a digest.
      precondition(isDone, "SHA-256")
      count = 32
    }
  }
}

/// For file formats that prescribe it. Protects nothing.
public enum SHA1 {
  /// 20 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 20) { buffer, count in
      _ = COpenSSL.SHA1(bytes, bytes.count, buffer.baseAddress)
      count = 20
    }
  }
}

/// Compares in a time that depends only on the lengths.
public func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

public enum SecureRandom {
  public static func bytes(_ count: Int) throws(OpenSSLError) -> [UInt8] {
    var good = false
    let result = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      good = count == 0 || RAND_bytes(buffer.baseAddress, Int32(clamping: count)) == 1
      filled = good ? count : 0
    }
    guard good else { throw .drained(.crypto, "no random bytes") }
    return result
  }
}
