import CSystem
import Files
import Synchronization

enum Arguments {
  /// From the C runtime: Swift's own list comes from /proc, which may not be mounted.
  static var afterName: [String] { (0..<csys_argument_count()).dropFirst().map { String(cString: csys_argument($0)) } }
}

/// The process's environment as it was at start.
enum Environment {
  static var current: [String: String] {
    var result: [String: String] = [:]
    var item = csys_environment()
    while let entry = item?.pointee {
      let text = String(cString: entry)
      if let equals = text.firstIndex(of: "=") { result[String(text[..<equals])] = String(text[text.index(after: equals)...]) }
      item = item?.successor()
    }
    return result
  }
}

extension Environment {
  /// For helper programs: without the variables of systemd's protocols, which concern this process only.
  static var forPrograms: [String: String] {
    current.filter {
      !["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"].contains($0.key)
    }
  }
}

enum Terminal {
  /// One line on standard error.
  static func error(_ line: String) { write(2, line + "\n") }
  static func print(_ line: String) { write(1, line + "\n") }

  private static func write(_ descriptor: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var start = 0
      while start < bytes.count {
        let count = csys_write(descriptor, bytes.baseAddress! + start, bytes.count - start)
        guard count > 0 else { return }
        start += count
      }
    }
  }
}

/// `threads: auto` = min(CPU affinity, cgroup quota rounded up, 4).
enum Threads {
  static func count(_ configured: Int?) -> Int {
    if let configured { return configured }
    return max(1, min(Int(csys_cpu_affinity_count()), quota() ?? .max, 4))
  }

  /// cgroup v2's cpu.max: `<quota> <period>` in microseconds, or `max`.
  private static func quota() -> Int? {
    guard let bytes = try? FileReading.read("/sys/fs/cgroup/cpu.max", limit: 4096).bytes else { return nil }
    let parts = String(decoding: bytes, as: UTF8.self).split(whereSeparator: { $0 == " " || $0 == "\n" })
    guard parts.count == 2, let quota = Int(parts[0]), let period = Int(parts[1]), quota > 0, period > 0 else { return nil }
    return (quota + period - 1) / period
  }
}

/// Counts the signals to stop: the second one stops at once.
final class Endings: Sendable {
  private let count = Atomic<Int>(0)
  func isSecond() -> Bool { count.add(1, ordering: .relaxed).newValue > 1 }
}

enum Process {
  /// Ends the process at once, without waiting for other threads. (ParsableCommand has another `exit`.)
  static func exit(_ status: Int32 = 0) -> Never { csys_exit(status) }
}
