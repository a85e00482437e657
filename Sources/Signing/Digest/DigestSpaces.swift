/// The protection spaces of one origin: a session for each realm, and the paths that have asked for it. An answer for the wrong realm
/// costs a challenge, no more. For one thread.
public struct DigestSpaces {
  /// An origin with more realms is challenged again for those that were forgotten.
  private static let maximumRealms = 8
  private static let maximumPaths = 64
  /// Bytes of a path that are remembered.
  public static let longestPath = 256

  /// The one that was challenged last is the last.
  private var sessions: [DigestSession] = []
  /// The oldest first.
  private var paths: [(path: [UInt8], session: DigestSession)] = []

  private let room: NonceRoom

  /// - Parameter room: for the counts of nonces; other origins may share it.
  public init(room: NonceRoom = NonceRoom()) { self.room = room }

  /// The session for a path: of the longest path that has asked and is the same or above it, else the last that was challenged; nil: no
  /// challenge has come yet.
  /// - Parameter path: without the query.
  public func session(for path: some Collection<UInt8>) -> DigestSession? {
    guard sessions.count > 1 else { return sessions.first }
    var best: (session: DigestSession, length: Int)?
    for known in paths where known.path.count > best?.length ?? -1 && Self.covers(known.path, path) {
      best = (known.session, known.path.count)
    }
    return best?.session ?? sessions.last
  }

  private static func covers(_ known: [UInt8], _ path: some Collection<UInt8>) -> Bool {
    guard path.starts(with: known) else { return false }
    let rest = path.dropFirst(known.count)
    return rest.isEmpty || known.last == UInt8(ascii: "/") || rest.first == UInt8(ascii: "/")
  }

  /// A path was challenged.
  /// - Returns: the session of the challenge's realm.
  public mutating func learn(_ challenge: DigestChallenge, at path: [UInt8]) -> DigestSession {
    let session: DigestSession
    if let index = sessions.firstIndex(where: { $0.rules.realm == challenge.rules.realm }) {
      session = sessions.remove(at: index)
      session.take(challenge)
    } else {
      if sessions.count >= Self.maximumRealms {
        let oldest = sessions.removeFirst()
        paths.removeAll { $0.session === oldest }
      }
      session = DigestSession(challenge, room: room)
    }
    sessions.append(session)
    // What lies beside it asks the same, until something there asks otherwise.
    if let slash = path.lastIndex(of: UInt8(ascii: "/")) { note(Array(path[...slash]), session) }
    note(path, session)
    return session
  }

  private mutating func note(_ path: [UInt8], _ session: DigestSession) {
    guard path.count <= Self.longestPath else { return }
    if let index = paths.firstIndex(where: { $0.path == path }) {
      paths[index].session = session
    } else {
      if paths.count >= Self.maximumPaths { paths.removeFirst() }
      paths.append((path, session))
    }
  }
}
