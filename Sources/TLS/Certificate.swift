import COpenSSL
import COpenSSLShims
import Crypto

/// An X.509 certificate. Equal if the DER is equal.
// SAFETY: the X509 does not change after init. OpenSSL counts its references and guards its lazy caches with locks.
public final class Certificate: @unchecked Sendable, Hashable, CustomStringConvertible {
  package let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }

  /// Adds its own reference.
  convenience init(sharing pointer: OpaquePointer) {
    X509_up_ref(pointer)
    self.init(owning: pointer)
  }

  deinit { X509_free(pointer) }

  public convenience init(der: [UInt8]) throws(OpenSSLError) {
    ERR_clear_error()
    guard let pointer = decodedDER(der, { d2i_X509(nil, $0, $1) }, { X509_free($0) }) else {
      throw .drained(.encoding, "no certificate")
    }
    self.init(owning: pointer)
  }

  /// Every certificate of a PEM file, in order; at least one. Ignores text between the blocks.
  public static func parse(pem: [UInt8]) throws(OpenSSLError) -> [Certificate] {
    var result: [Certificate] = []
    for der in try blocks(ofPEM: pem) {
      do throws(OpenSSLError) { result.append(try Certificate(der: der)) } catch {
        throw OpenSSLError(.encoding, "certificate \(result.count + 1): \(error.message)")
      }
    }
    return result
  }

  /// What PEM calls them (RFC 7468, 5.3). Not OpenSSL's "TRUSTED CERTIFICATE": it may say what the certificate must not be trusted for.
  private static let labels: Set = ["CERTIFICATE", "X509 CERTIFICATE"]

  /// The DER of every certificate of a PEM file, in order; at least one. Ignores text between the blocks.
  static func blocks(ofPEM pem: [UInt8]) throws(OpenSSLError) -> [[UInt8]] {
    guard let input = MemoryBIO(pem) else { throw .drained(.encoding, "out of memory") }
    ERR_clear_error()
    var result: [[UInt8]] = []
    var (name, header): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
    var (data, count): (UnsafeMutablePointer<UInt8>?, Int) = (nil, 0)
    while PEM_read_bio(input.pointer, &name, &header, &data, &count) == 1 {
      if let name, labels.contains(String(cString: name)) {
        result.append(firstElement(of: UnsafeBufferPointer(start: data, count: count)))
      }
      for pointer in [UnsafeMutableRawPointer(name), UnsafeMutableRawPointer(header), UnsafeMutableRawPointer(data)] {
        cossl_free(pointer)
      }
    }
    let noMore = Int32(truncatingIfNeeded: ERR_peek_last_error() & 0x7F_FFFF) == PEM_R_NO_START_LINE
    guard noMore else { throw .drained(.encoding, "certificate \(result.count + 1)") }
    ERR_clear_error()
    guard !result.isEmpty else { throw OpenSSLError(.encoding, "it contains no certificate") }
    return result
  }

  /// What follows it never counted. All, if its length is not definite.
  private static func firstElement(of der: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var (content, length, tag, kind): (UnsafePointer<UInt8>?, Int, Int32, Int32) = (der.baseAddress, 0, 0, 0)
    let form = ASN1_get_object(&content, &length, &tag, &kind, der.count)
    guard form & 0x81 == 0, let content, let start = der.baseAddress else {
      ERR_clear_error()
      return Array(der)
    }
    return Array(der.prefix(content - start + length))
  }

  public static func == (left: Certificate, right: Certificate) -> Bool {
    left === right || X509_cmp(left.pointer, right.pointer) == 0
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(SHA256.digest(der)) }

  public var description: String { subject }

  public var der: [UInt8] { encodedDER { i2d_X509(pointer, $0) } }

  public var pem: [UInt8] {
    guard let output = MemoryBIO(), PEM_write_bio_X509(output.pointer, pointer) == 1 else { return [] }
    return output.takeBytes()
  }

  /// RFC 2253 form; everything but printable ASCII is escaped.
  public var subject: String { Self.text(X509_get_subject_name(pointer)) }
  public var issuer: String { Self.text(X509_get_issuer_name(pointer)) }

  /// Seconds since 1970; 0 if the field is malformed.
  public var notBefore: Int64 { unixTime(X509_get0_notBefore(pointer)) ?? 0 }
  public var notAfter: Int64 { unixTime(X509_get0_notAfter(pointer)) ?? 0 }

  /// DER content of the serial number: big-endian, without sign.
  public var serialNumber: [UInt8] { bytes(of: X509_get0_serialNumber(pointer)) }

  /// SubjectPublicKeyInfo in DER.
  public var publicKeyInfo: [UInt8] {
    guard let key = X509_get_X509_PUBKEY(pointer) else { return [] }
    return encodedDER { i2d_X509_PUBKEY(key, $0) }
  }

  /// Digest that pins are compared with (RFC 7469 section 2.4), 32 bytes.
  public var publicKeyDigest: [UInt8] { SHA256.digest(publicKeyInfo) }

  /// SHA-256 of the whole certificate, 32 bytes.
  public var fingerprint: [UInt8] { SHA256.digest(der) }

  /// By basic constraints; self-signed certificates of version 1 count, too.
  public var isCA: Bool { X509_check_ca(pointer) != 0 }

  /// Whether `issuer`'s name, identifiers and signature match this certificate.
  public func isIssued(by issuer: Certificate) -> Bool {
    defer { ERR_clear_error() }
    return X509_check_issued(issuer.pointer, pointer) == X509_V_OK
      && X509_verify(pointer, X509_get0_pubkey(issuer.pointer)) == 1
  }

  private static func text(_ name: OpaquePointer?) -> String {
    guard let output = MemoryBIO(), cossl_print_name(output.pointer, name) >= 0 else { return "" }
    return String(decoding: output.takeBytes(), as: UTF8.self)
  }

  static func chain(_ stack: OpaquePointer?) -> [Certificate] {
    stack?.stackElements().map { Certificate(sharing: OpaquePointer($0)) } ?? []
  }
}
