import CSystem
import Proxy

/// A request that the proxy answered itself, or that ended in 5xx, cut, or by a time-out.
struct Trouble: Sendable, Hashable {
  /// Seconds since 1970.
  var time: Int64
  /// Monotonic nanoseconds.
  var ended: Int64
  /// A configured client; nil: anonymous.
  var client: String?
  let peer: String
  /// nil: no entry matched.
  var upstream: String?
  var method: String
  var authority: String
  /// Without query.
  var path: String
  var status: Int
  let isOwnAnswer: Bool
  /// Of Proxy-Status.
  var error: String?
  var details: String?

  /// Bytes of a text that are kept.
  static let longestText = 512

  static func isTrouble(_ request: borrowing RequestRecord) -> Bool {
    request.answer.status >= 500 || request.answer.error != nil
      || (request.answer.author == .proxy && request.answer.status >= 400)
  }

  init(_ request: borrowing RequestRecord) {
    time = csys_wall_clock() / 1_000_000_000
    ended = request.times.ended
    client = request.client
    peer = request.peer?.description ?? ""
    upstream = request.upstream.entry?.settings.name
    method = Self.cut(request.target.method)
    authority = Self.cut(request.target.authority)
    path = Self.cut(request.target.path)
    status = request.answer.status
    isOwnAnswer = request.answer.author == .proxy
    error = request.answer.error
    details = request.answer.details.map(Self.cut)
  }

  private static func cut(_ text: String) -> String {
    text.utf8.count <= longestText ? text : String(decoding: text.utf8.prefix(longestText), as: UTF8.self) + "…"
  }

  var shortPath: String { Self.short(path) }

  /// `/v1/…`: what follows the first segment may be a secret of a bot or a webhook; so may the first one, unless it looks like a word.
  static func short(_ path: String) -> String {
    guard path.utf8.first == UInt8(ascii: "/") else { return path }
    let segment = path.utf8.dropFirst().prefix { $0 != UInt8(ascii: "/") }
    guard isWord(segment) else { return "/…" }
    let rest = path.utf8.dropFirst(1 + segment.count)
    return "/" + String(decoding: segment, as: UTF8.self) + (rest.isEmpty ? "" : "/…")
  }

  private static func isWord(_ segment: Substring.UTF8View) -> Bool {
    let digits = segment.count { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return segment.count <= 24 && digits <= 3 && !segment.contains { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }
  }
}

/// The last ones of a loop.
struct TroubleRing: Sendable {
  static let limit = 200

  private var kept: [Trouble] = []
  private var oldest = 0

  mutating func add(_ trouble: Trouble) {
    guard kept.count == Self.limit else { return kept.append(trouble) }
    kept[oldest] = trouble
    oldest = (oldest + 1) % Self.limit
  }

  /// The newest first.
  var list: [Trouble] { (kept[oldest...] + kept[..<oldest]).reversed() }

  /// The last ones of several loops, the newest first.
  static func merged(_ lists: [[Trouble]]) -> [Trouble] {
    Array(lists.joined().sorted { $0.ended > $1.ended }.prefix(limit))
  }
}

/// Those with the same cause.
struct TroubleGroup: Sendable, Hashable {
  struct Cause: Sendable, Hashable {
    var upstream: String?
    var status: Int
    var error: String?
  }
  var cause: Cause
  var count: Int
  /// The newest one.
  var last: Trouble

  /// The most frequent first.
  static func of(_ troubles: [Trouble]) -> [TroubleGroup] {
    var groups: [TroubleGroup] = []
    var places: [Cause: Int] = [:]
    for trouble in troubles {
      let cause = Cause(upstream: trouble.upstream, status: trouble.status, error: trouble.error)
      if let place = places[cause] {
        groups[place].count += 1
      } else {
        places[cause] = groups.count
        groups.append(TroubleGroup(cause: cause, count: 1, last: trouble))
      }
    }
    return groups.enumerated().sorted { ($1.element.count, $0.offset) < ($0.element.count, $1.offset) }.map(\.element)
  }
}
