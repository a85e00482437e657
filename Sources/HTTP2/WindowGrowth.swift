/// Memory that the receive windows of all sessions may grow by. Called on the session's thread.
public protocol WindowBudget: AnyObject {
  /// False: nothing was taken.
  func takeForWindow(_ bytes: Int) -> Bool
  func giveBackFromWindow(_ bytes: Int)
}

/// What the receive windows of one connection may still grow by.
struct WindowGrowth {
  private var left = SessionLimits.windowGrowth
  private let budget: (any WindowBudget)?

  /// - Parameter budget: shared with other connections; nil: none is shared.
  init(_ budget: (any WindowBudget)?) { self.budget = budget }

  /// False: nothing was taken.
  mutating func take(_ bytes: Int) -> Bool {
    guard bytes <= left, budget?.takeForWindow(bytes) ?? true else { return false }
    left -= bytes
    return true
  }

  mutating func giveBack(_ bytes: Int) {
    guard bytes > 0 else { return }
    left += bytes
    budget?.giveBackFromWindow(bytes)
  }

  /// The connection is over.
  mutating func end() { giveBack(SessionLimits.windowGrowth - left) }
}
