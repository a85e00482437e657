import COpenSSL
import COpenSSLShims
import Crypto

/// The keys of session tickets: in memory only, shared by the contexts of all loops so that a client resumes on whichever loop it
/// meets. A ticket binds more than its key does: see `TLSConnection.serve`.
public struct TicketKeys: Sendable {
  /// Seconds for which new tickets are made with one key; it opens tickets for as long again.
  public static let lifetime: Int64 = 12 * 3600

  /// 80 bytes: name, cipher key, MAC key.
  private let current: [UInt8]
  private let previous: [UInt8]
  /// Seconds since 1970: from then on `renewed` is due.
  public let renewal: Int64

  private init(current: [UInt8], previous: [UInt8], renewal: Int64) {
    self.current = current
    self.previous = previous
    self.renewal = renewal
  }

  /// - Parameter now: seconds since 1970.
  public init(now: Int64) throws(OpenSSLError) {
    self.init(current: try SecureRandom.bytes(80), previous: [], renewal: now + Self.lifetime)
  }

  /// With a new key; the one until now opens the tickets that it made, unless it should have gone before.
  public func renewed(now: Int64) throws(OpenSSLError) -> TicketKeys {
    TicketKeys(
      current: try SecureRandom.bytes(80), previous: now < renewal + Self.lifetime ? current : [],
      renewal: now + Self.lifetime)
  }

  func write(to keys: UnsafeMutablePointer<cossl_ticket_keys>) {
    let target = UnsafeMutableRawPointer(keys)
    let size = MemoryLayout<cossl_ticket_key>.size
    OPENSSL_cleanse(target, MemoryLayout<cossl_ticket_keys>.size)
    current.withUnsafeBytes { target.copyMemory(from: $0.baseAddress!, byteCount: size) }
    keys.pointee.has_previous = previous.isEmpty ? 0 : 1
    if !previous.isEmpty { previous.withUnsafeBytes { (target + size).copyMemory(from: $0.baseAddress!, byteCount: size) } }
  }
}

extension TicketKeys: CustomStringConvertible, CustomReflectable {
  public var description: String { "<ticket keys>" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
