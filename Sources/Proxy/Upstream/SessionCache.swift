import TLS

/// TLS sessions of one origin and policy on one loop, newest first. They lie in the pool, whose key is the policy's content.
final class SessionCache {
  private static let capacity = 8
  private var sessions: [TLSSession] = []

  func keep(_ session: TLSSession) {
    if sessions.count == Self.capacity { sessions.removeFirst() }
    sessions.append(session)
  }

  /// A session to offer; one of TLS 1.3 is used once (RFC 8446 appendix C.4).
  /// - Parameter now: seconds since 1970.
  func take(now: Int64) -> TLSSession? {
    while let session = sessions.popLast() {
      guard session.isResumable, session.expiry > now else { continue }
      if !session.isSingleUse { sessions.append(session) }
      return session
    }
    return nil
  }
}
