import Foundation

/// A preloaded C library that sets the calendar of the program under test ahead: see clock.c.
struct ShiftedClock {
  private let file: String
  private static let built = Result { try Surroundings.preloadable("clock") }
  let environment: [String: String]

  init() throws {
    file = try Surroundings.newFolder() + "/ahead"
    environment = ["LD_PRELOAD": try Self.built.get(), "CLOCK_AHEAD": file]
  }

  /// From now on.
  func set(days: Int) throws { try set(seconds: days * 86_400) }
  func set(seconds: Int) throws { try "\(seconds)".write(toFile: file, atomically: true, encoding: .utf8) }
}
