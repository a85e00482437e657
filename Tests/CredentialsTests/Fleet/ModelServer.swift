@testable import Credentials

/// A token server: refresh tokens have numbers, and each use of one brings the next.
struct ModelServer {
  /// A request that used a refresh token.
  struct Presentation {
    let token: Int
    let process: Int
    let sent: Int64
    /// When its claim came into the store, and as which version; nil: it never did.
    let claimed: Int64?
    let claim: Int?
    /// It has been answered, or its time is over.
    var isOver = false
    /// When its process got a new token by it.
    var delivered: Int64?
  }

  static let lifetime: Int64 = 3_600

  let kind: Schedule.Server
  private(set) var newest = 1
  private(set) var isRevoked = false
  private(set) var presentations: [Presentation] = []
  private var used: Set<Int> = []
  /// Of access token `a<n>`, which comes with refresh token `r<n>`.
  private(set) var issued: [Int: Int64] = [:]

  init(_ kind: Schedule.Server) { self.kind = kind }

  static func number(_ token: Secret?) -> Int {
    token.flatMap { Int(String(decoding: $0.bytes.dropFirst(), as: UTF8.self)) } ?? 0
  }

  mutating func sent(_ presentation: Presentation) -> Int {
    presentations.append(presentation)
    return presentations.count - 1
  }

  mutating func isOver(_ index: Int) { presentations[index].isOver = true }

  mutating func delivered(_ index: Int, at time: Int64) {
    presentations[index].isOver = true
    presentations[index].delivered = time
  }

  /// What the server answers when the request has come.
  mutating func answer(_ index: Int, at time: Int64) -> TokenAnswer {
    let token = presentations[index].token
    let isRepeated = !used.insert(token).inserted
    if isRepeated, kind == .detectsReuse { isRevoked = true }
    guard !isRevoked else { return refusal(.invalidGrant) }
    newest += 1
    issued[newest] = time
    return grant("a\(newest)", lifetime: Self.lifetime, refreshToken: "r\(newest)")
  }

  /// Whether a refresh with this token would bring another one.
  func isGood(_ token: Int) -> Bool { !isRevoked && (kind == .hasGrace || !used.contains(token)) && token <= newest }
}
