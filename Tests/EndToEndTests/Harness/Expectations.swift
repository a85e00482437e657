import Foundation
import Testing

/// Compares an answer with the rules for the proxy's own answers.
func expectOwnAnswer(
  _ answer: Answer, _ status: Int, _ error: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(answer.status == status, "\(answer.head)", sourceLocation: sourceLocation)
  #expect(answer.proxyError == error, "\(answer.head)", sourceLocation: sourceLocation)
  let own = answer.all("Proxy-Status").filter { $0.hasPrefix("authproxy; error=\(error)") && $0.contains("details=\"") }
  #expect(own.count == 1, "Proxy-Status with details: \(answer.head)", sourceLocation: sourceLocation)
  #expect(answer["Content-Type"]?.hasPrefix("text/plain") == true, "\(answer.head)", sourceLocation: sourceLocation)
  #expect(answer["Cache-Control"] == "no-store", "\(answer.head)", sourceLocation: sourceLocation)
  #expect(answer.body.isEmpty || answer.text.contains("."), "a sentence: \(answer.text)", sourceLocation: sourceLocation)
}

/// What /proc says about a process.
struct Measures {
  /// KiB of its own, now and at the maximum since the last `resettingPeak`. Pages of code come and go with what it does, and are the
  /// page cache's.
  let resident: Int
  let residentPeak: Int
  let descriptors: Int
  /// Descriptors that are sockets. The proxy has its listeners before it says that it serves; loops and timers may come later.
  let sockets: Int
  /// Clock ticks, user and system.
  let processorTicks: Int

  /// KiB. Also of a process that hides its memory, as one with a CA does; the rest is then for root alone.
  static func resident(_ pid: pid_t) throws -> Int { try kibibytes("RssAnon:", pid) + kibibytes("RssShmem:", pid) }

  private static func kibibytes(_ name: String, _ pid: pid_t) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
    guard let value = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) }) else {
      throw HarnessError("no \(name) of \(pid)")
    }
    return value
  }

  /// - Parameter resettingPeak: the maximum begins with what is resident now: start takes more than most of what comes after it.
  init(_ pid: pid_t, resettingPeak: Bool = false) throws {
    // proc(5), clear_refs.
    if resettingPeak { try "5".write(toFile: "/proc/\(pid)/clear_refs", atomically: false, encoding: .utf8) }
    resident = try Self.resident(pid)
    residentPeak = try Self.kibibytes("VmHWM:", pid) - Self.kibibytes("RssFile:", pid)
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
    descriptors = open.count
    // One may be closed meanwhile.
    let targets = open.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)") }
    sockets = targets.count { $0.hasPrefix("socket:") }
    let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    let values = stat.components(separatedBy: ") ").last?.split(separator: " ") ?? []
    guard values.count > 12, let user = Int(values[11]), let system = Int(values[12]) else { throw HarnessError("no stat") }
    processorTicks = user + system
  }
}

/// Waits until `fits` is true; checks every 20 ms. For state that the kernel does not announce, such as another process's
/// descriptors.
func eventually(seconds: Double = 10, _ fits: () throws -> Bool) throws -> Bool {
  let deadline = Date(timeIntervalSinceNow: seconds)
  while Date() < deadline {
    if try fits() { return true }
    usleep(20_000)
  }
  return try fits()
}

/// Runs all cases, even if one of them throws; then that case fails under its name.
func each<Case>(_ cases: [Case], sourceLocation: SourceLocation = #_sourceLocation, _ body: (Case) throws -> Void) {
  for one in cases {
    do {
      try body(one)
    } catch {
      Issue.record("\(one): \(error)", sourceLocation: sourceLocation)
    }
  }
}

/// - Parameter answer: shown if it is another one.
func expect(_ answer: Answer, _ status: Int, _ proxy: ProxyProcess? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(answer.status == status, "\(answer.head)\(answer.text)\n\(proxy?.tail ?? "")", sourceLocation: sourceLocation)
}
