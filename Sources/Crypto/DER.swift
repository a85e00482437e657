import COpenSSL

/// Runs OpenSSL's two-step encoders (`i2d_*`): once for the size, once for the bytes.
package func encodedDER(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
  let size = Int(encode(nil))
  guard size > 0 else {
    ERR_clear_error()
    return []
  }
  return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
    var cursor = buffer.baseAddress
    count = max(0, Int(encode(&cursor)))
  }
}

/// Runs OpenSSL's decoders (`d2i_*`). nil also if bytes follow the structure, so that what is hashed is what is parsed.
package func decodedDER(
  _ bytes: [UInt8], _ decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?,
  _ release: (OpaquePointer) -> Void
) -> OpaquePointer? {
  bytes.withUnsafeBufferPointer { buffer in
    var cursor = buffer.baseAddress
    guard let result = decode(&cursor, buffer.count) else { return nil }
    guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
      release(result)
      return nil
    }
    return result
  }
}
