import Credentials
import EventIO

/// The proxy's token for the API server. A kubelet replaces the file of a bound token long before it ends; the server's 401 says when to look.
///
// SAFETY: confined to its loop. The lane carries it back there, and uses nothing of it.
final class BearerToken: @unchecked Sendable {
  typealias Answer = Result<Secret, TokenUnreadable>

  private let settings: KubernetesSettings
  private unowned let loop: EventLoop
  private var known: Secret?
  private var waiters: [(Answer) -> Void] = []

  init(_ settings: KubernetesSettings, on loop: EventLoop) {
    self.settings = settings
    self.loop = loop
  }

  /// - Parameters:
  ///   - refused: which the server has refused; nil: none.
  ///   - then: called once, perhaps before this returns. Gets `refused` again if nothing newer is there.
  func get(after refused: Secret? = nil, then: @escaping (Answer) -> Void) {
    if let known, known != refused { return then(.success(known)) }
    waiters.append(then)
    guard waiters.count == 1 else { return }
    let (read, executor) = (settings.readToken, loop.executor)
    let isQueued = settings.lane.run {
      let answer = read()
      executor.call { _ in self.finish(answer) }
    }
    if !isQueued { executor.call { _ in self.finish(.failure(TokenUnreadable("too many files wait to be read"))) } }
  }

  private func finish(_ answer: Answer) {
    let answer = answer.flatMap(Self.checked)
    if case .success(let token) = answer { known = token }
    let all = waiters
    waiters = []
    for then in all { then(answer) }
  }

  /// One that fits into a field (RFC 6750 section 2.1), without the spaces and line feeds around it.
  static func checked(_ token: Secret) -> Answer {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
    let bytes = token.bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
    guard !bytes.isEmpty else { return .failure(TokenUnreadable("it is empty")) }
    guard bytes.count <= 65_536, bytes.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      return .failure(TokenUnreadable("it has characters that no bearer token has"))
    }
    return .success(Secret(Array(bytes)))
  }
}
