import Foundation
import Testing

/// Holds an answer against the rules for those that the proxy makes itself.
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

/// What /proc tells of a process.
struct Measures {
  /// KiB
  let resident: Int
  let descriptors: Int
  /// Clock ticks, user and system.
  let processorTicks: Int

  init(_ pid: pid_t) throws {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
      let kilobytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({ Int($0) })
    else { throw HarnessError("no VmRSS of \(pid)") }
    resident = kilobytes
    descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    let values = stat.components(separatedBy: ") ").last?.split(separator: " ") ?? []
    guard values.count > 12, let user = Int(values[11]), let system = Int(values[12]) else { throw HarnessError("no stat") }
    processorTicks = user + system
  }
}

/// Waits until `fits` holds; looks again every 20 ms. For what the kernel announces to nobody, as another process's descriptors.
func eventually(seconds: Double = 10, _ fits: () throws -> Bool) throws -> Bool {
  let deadline = Date(timeIntervalSinceNow: seconds)
  while Date() < deadline {
    if try fits() { return true }
    usleep(20_000)
  }
  return try fits()
}
