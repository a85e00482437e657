/// How much of a stream's window a reader has earned: it begins at 64 KiB and doubles each time that the reader has taken a whole
/// window and left nothing behind.
struct StreamWindow {
  private(set) var size = SessionLimits.firstWindow
  private var taken = 0

  /// - Parameters:
  ///   - bytes: what the reader took now.
  ///   - growth: less afterwards if this one grows.
  ///   - keepsUp: nothing is left to be read.
  /// - Returns: the new size; nil: as before.
  mutating func take(_ bytes: Int, keepsUp: Bool, growth: inout WindowGrowth) -> Int? {
    taken += bytes
    guard taken >= size else { return nil }
    taken = 0
    guard keepsUp, size < SessionLimits.largestWindow, growth.take(size) else { return nil }
    size *= 2
    return size
  }

  /// Gives back what it has of the connection's growth.
  mutating func end(growth: inout WindowGrowth) {
    growth.giveBack(size - SessionLimits.firstWindow)
    self = StreamWindow()
  }
}
