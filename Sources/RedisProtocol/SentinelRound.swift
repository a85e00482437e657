/// In which order Sentinels are asked: each once a round, and first the one that answered last.
public struct SentinelRound: Sendable {
  private var order: [RedisAddress]
  private var next = 0

  /// - Parameter addresses: as configured.
  public init(_ addresses: [RedisAddress]) { order = addresses }

  public mutating func begin() { next = 0 }

  /// nil: all were asked in this round.
  public mutating func ask() -> RedisAddress? {
    guard next < order.count else { return nil }
    next += 1
    return order[next - 1]
  }

  /// The one that was asked last named a server that is a primary.
  public mutating func wasRight() {
    guard next > 0 else { return }
    order.insert(order.remove(at: next - 1), at: 0)
  }
}
