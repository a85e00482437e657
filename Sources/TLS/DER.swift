import COpenSSL
import Glibc

/// OpenSSL's two-step encoders (`i2d_*`): once for the size, once for the bytes.
func encodedDER(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
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

/// OpenSSL's decoders (`d2i_*`). Nil also where bytes follow the structure: what is hashed and what is parsed must be one.
func decodedDER(
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

/// Seconds since 1970 of an ASN.1 UTCTime or GeneralizedTime.
func unixTime(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
  guard let time else { return nil }
  var parts = tm()
  guard ASN1_TIME_to_tm(time, &parts) == 1 else {
    ERR_clear_error()
    return nil
  }
  return Int64(timegm(&parts))
}

func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
  guard let string, let data = ASN1_STRING_get0_data(string) else { return [] }
  return [UInt8](UnsafeBufferPointer(start: data, count: Int(ASN1_STRING_length(string))))
}

/// Seconds since 1970, by the system's clock.
@inline(__always) func wallClock() -> Int64 { Int64(time(nil)) }

extension OpaquePointer {
  /// A STACK_OF anything, as the pointers that it holds; it keeps owning them.
  func stackElements() -> [UnsafeMutableRawPointer] {
    let count = OPENSSL_sk_num(self)
    guard count > 0 else { return [] }
    return (0..<count).compactMap { OPENSSL_sk_value(self, $0) }
  }
}
