/// What one client may cost a table of subjects and its token server.
struct SubjectBudget: Sendable {
  /// Exchanges at a time.
  static let flights = 8
  /// Subjects that the server may refuse within `interval`; more are not tried.
  static let refusals = 20
  /// Milliseconds.
  static let interval: Int64 = 60_000

  let client: SubjectClient
  var entries = 0
  var inFlight = 0
  /// Entries that wait for an exchange, oldest first.
  var queue = Queue()
  /// It has its turn when exchanges of others end.
  var isInLine = false
  private var windowEnd: Int64 = 0
  private var refused = 0

  init(_ client: SubjectClient) { self.client = client }

  /// - Returns: true if it was the last one that the client may have in this minute.
  mutating func countRefusal(_ now: Int64) -> Bool {
    if now >= windowEnd {
      windowEnd = now + Self.interval
      refused = 0
    }
    refused += 1
    return refused == Self.refusals
  }

  /// Milliseconds until the client's unknown subjects are tried again; nil: now.
  func suspension(_ now: Int64) -> Int64? {
    refused >= Self.refusals && now < windowEnd ? windowEnd - now : nil
  }

  /// Nothing is lost if it is forgotten.
  func isIdle(_ now: Int64) -> Bool { entries == 0 && inFlight == 0 && !isInLine && now >= windowEnd }

  /// First in, first out.
  struct Queue: Sendable {
    private var items: [Int] = []
    private var head = 0

    var isEmpty: Bool { head == items.count }

    mutating func append(_ item: Int) { items.append(item) }

    mutating func popFirst() -> Int? {
      guard head < items.count else { return nil }
      defer {
        head += 1
        if head == items.count {
          items = []
          head = 0
        } else if head > 1_024 {
          items.removeFirst(head)
          head = 0
        }
      }
      return items[head]
    }

    /// - Returns: what was removed.
    mutating func removeAll(where isGone: (Int) -> Bool) -> [Int] {
      let all = items[head...]
      head = 0
      items = all.filter { !isGone($0) }
      return all.filter(isGone)
    }
  }
}
