import Cache
import EventIO
import Forwarding
import HTTPWire

/// A stored answer that takes the place of the origin's.
final class StoredReply {
  private let answer: StoredAnswer
  let part: StoredPart
  let outcome: CacheOutcome
  /// Lines for this app alone.
  var lines: [UInt8] = []
  /// In place of the answer's, if it was renewed for this request alone.
  private let renewed: (head: StoredHead, origin: OriginHead?, times: StoredTimes)?
  /// In place of each: what redirects have made of it.
  private var settled: StoredHead?

  /// - Parameter renewed: in place of the answer's.
  init(
    _ answer: StoredAnswer, _ outcome: CacheOutcome, for plan: RequestPlan,
    renewed: (head: StoredHead, origin: OriginHead?, times: StoredTimes)? = nil
  ) {
    self.answer = answer
    self.renewed = renewed
    part = plan.answer(from: answer.facts, size: answer.body.size, received: answer.received)
    self.outcome = outcome
  }

  var head: StoredHead { settled ?? renewed?.head ?? answer.head }
  /// As the origin sent it.
  var origin: OriginHead? { if let renewed { renewed.origin } else { answer.origin } }
  var isDecoded: Bool { answer.facts.isDecoded }
  func settle(_ head: StoredHead) { settled = head }
  var body: StoredBody { answer.body }
  private var times: StoredTimes { renewed?.times ?? answer.times }

  /// Seconds.
  func age(_ now: Int64) -> Int64 { times.age(now) }

  var status: Int {
    switch part {
    case .whole: head.status
    case .part: 206
    case .notModified: 304
    case .unsatisfiable: 416
    }
  }

  /// What of the body is sent.
  func range(isHead: Bool) -> Range<Int> {
    if isHead { return 0..<0 }
    switch part {
    case .whole: return 0..<body.size
    case .part(let range): return range
    case .notModified, .unsatisfiable: return 0..<0
    }
  }
}
