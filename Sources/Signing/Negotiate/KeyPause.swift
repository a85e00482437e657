/// After the KDC has refused a key or a password, the proxy does not try it again for a while: each try counts as a failed login,
/// which locks accounts. There is one for a credential, whatever services its tickets are for: a value with inputs and answers.
///
/// The pause of one key doubles with each refusal: a domain counts failed logins until there was none for some time (often half an
/// hour), which a try every quarter of an hour would never let pass.
///
/// Times are monotonic milliseconds. `Mark` is a state of the keytab: when it changes, its key may be another one.
public struct KeyPause<Mark: Sendable & Hashable>: Sendable {
  /// After the first refusal, and at most.
  public static var length: Int64 { 900_000 }
  public static var longest: Int64 { 86_400_000 }

  private var refusal: (text: String, mark: Mark?, until: Int64)?
  /// Of the key in that state, one after the other.
  private var refusals: Int64 = 0

  public init() {}

  /// The KDC has refused the key.
  /// - Parameter mark: as the source was before.
  public mutating func refused(_ text: String, mark: Mark?, now: Int64) {
    refusals = refusal?.mark == mark ? refusals + 1 : 1
    refusal = (text, mark, now + min(Self.length << min(refusals - 1, 10), Self.longest))
  }

  /// The KDC has taken the key.
  public mutating func accepted() { (refusal, refusals) = (nil, 0) }

  /// Why the key is not tried now; nil: it may be.
  public func reason(mark: Mark?, now: Int64) -> String? {
    guard let refusal, now < refusal.until, refusal.mark == mark else { return nil }
    return refusal.text
  }
}
