/// How many nonces of the past the sessions of one signer remember. A server may name one of them again, as several behind one address do.
/// Servers choose nonces, realms and, below a wildcard, hosts: without a common bound, they would choose how much memory the proxy uses.
/// For one thread.
public final class NonceRoom {
  /// Of one session.
  static let longest = 1_024
  /// Of each session, however much the others remember.
  static let own = 4
  /// Of all sessions together, beyond their own. With 8 realms of 1,024 origins this makes 65,536.
  public static let common = 32_768

  private let common: Int
  private(set) var used = 0

  public init(common: Int = NonceRoom.common) { self.common = common }

  /// Whether a session that remembers `count` nonces may remember one more. If not, it forgets its oldest.
  func grows(from count: Int) -> Bool {
    if count < Self.own { return true }
    guard count < Self.longest, used < common else { return false }
    used += 1
    return true
  }

  /// A session that remembered `count` nonces is gone.
  func giveBack(all count: Int) { used -= max(0, count - Self.own) }
}
