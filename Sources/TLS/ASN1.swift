import COpenSSL
import Glibc

/// An ASN.1 UTCTime or GeneralizedTime in seconds since 1970.
func unixTime(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
  guard let time else { return nil }
  var parts = tm()
  guard ASN1_TIME_to_tm(time, &parts) == 1 else {
    ERR_clear_error()
    return nil
  }
  return Int64(timegm(&parts))
}

package func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
  guard let string, let data = ASN1_STRING_get0_data(string) else { return [] }
  return [UInt8](UnsafeBufferPointer(start: data, count: Int(ASN1_STRING_length(string))))
}

/// The system's clock in seconds since 1970.
package func wallClock() -> Int64 { Int64(time(nil)) }

extension OpaquePointer {
  /// The pointers in any STACK_OF, which keeps owning them.
  func stackElements() -> [UnsafeMutableRawPointer] {
    let count = OPENSSL_sk_num(self)
    guard count > 0 else { return [] }
    return (0..<count).compactMap { OPENSSL_sk_value(self, $0) }
  }
}
