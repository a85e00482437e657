import Foundation

/// A preloaded C library that sets the calendar of the program under test ahead: see clock.c.
struct ShiftedClock {
  private let file: String
  private static let built = Result {
    let path = Surroundings.folder + "/clock.so"
    let made = try ChildProcess.run(
      "cc", ["-O2", "-shared", "-fPIC", "-o", path, Surroundings.support + "/clock.c", "-ldl"])
    guard made.status == .exited(0) else { throw HarnessError("cc: \(made.errors)") }
    return path
  }
  let environment: [String: String]

  init() throws {
    file = try Surroundings.newFolder() + "/ahead"
    environment = ["LD_PRELOAD": try Self.built.get(), "CLOCK_AHEAD": file]
  }

  /// From now on.
  func set(days: Int) throws { try "\(days * 86_400)".write(toFile: file, atomically: true, encoding: .utf8) }
}
