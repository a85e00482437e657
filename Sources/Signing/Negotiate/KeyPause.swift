/// After the KDC has refused a key or a password, the proxy does not try it again for a while: each try counts as a failed login,
/// which locks accounts. There is one for a credential, whatever services its tickets are for: a value with inputs and answers.
///
/// Times are monotonic milliseconds. `Mark` is a state of the keytab: when it changes, its key may be another one.
public struct KeyPause<Mark: Sendable & Hashable>: Sendable {
  public static var length: Int64 { 900_000 }

  private var refusal: (text: String, mark: Mark?, until: Int64)?

  public init() {}

  /// The KDC has refused the key.
  /// - Parameter mark: as the source was before.
  public mutating func refused(_ text: String, mark: Mark?, now: Int64) { refusal = (text, mark, now + Self.length) }

  /// Why the key is not tried now; nil: it may be.
  public func reason(mark: Mark?, now: Int64) -> String? {
    guard let refusal, now < refusal.until, refusal.mark == mark else { return nil }
    return refusal.text
  }
}
