import Foundation

/// loadgen.c, for tests with many connections or many bytes.
enum LoadGenerator {
  // swift-format-ignore: AlwaysUseLowerCamelCase, the names are those of the JSON
  struct Result: Decodable {
    let requests, finished, good, failed, mismatched, bytes: Int
    let seconds: Double
    let p50_us, p99_us, p999_us, max_us: Int
    let statuses: [String: Int]
  }

  static func load(_ proxy: ProxyProcess, _ url: String, _ options: String..., seconds: Int = 120) throws -> Result {
    let child = try start(proxy, url, options, seconds: seconds)
    return try result(child, seconds: seconds)
  }

  static func start(_ proxy: ProxyProcess, _ url: String, _ options: [String], seconds: Int = 120) throws -> ChildProcess {
    let arguments = ["load", "--to", proxy.addresses[0], "--url", url, "--timeout", String(seconds)] + options
    return try ChildProcess(try Surroundings.loadGenerator(), arguments)
  }

  static func result(_ child: ChildProcess, seconds: Int = 120) throws -> Result {
    guard child.awaitEnd(seconds: Double(seconds) + 10) == .exited(0) else {
      throw HarnessError("loadgen: \(child.output) \(child.errors)")
    }
    return try JSONDecoder().decode(Result.self, from: Data(child.output.utf8))
  }

  /// Connections that stay open until `release`.
  struct Held {
    struct Outcome: Decodable {
      let open, closed: Int
      let statuses: [String: Int]
    }
    fileprivate let child: ChildProcess
    let count: Int

    func release() throws -> Outcome {
      child.closeInput()
      guard child.awaitEnd(seconds: 30) == .exited(0), let line = child.lines.last else {
        throw HarnessError("loadgen hold: \(child.output) \(child.errors)")
      }
      return try JSONDecoder().decode(Outcome.self, from: Data(line.utf8))
    }
  }

  static func hold(_ proxy: ProxyProcess, connections: Int, _ options: [String], seconds: Double = 60) throws -> Held {
    let child = try ChildProcess(
      try Surroundings.loadGenerator(), ["hold", "--to", proxy.addresses[0], "--connections", String(connections)] + options)
    guard let line = child.awaitLine(seconds: seconds, where: { $0.hasPrefix("held ") }) else {
      throw HarnessError("loadgen hold: \(child.output) \(child.errors)")
    }
    return Held(child: child, count: Int(line.dropFirst(5)) ?? 0)
  }

  /// A small fast origin over clear-text HTTP: answers every request with `size` bytes.
  /// - Parameters:
  ///   - port: 0: any.
  ///   - fields: more lines of each answer.
  static func serve(size: Int = 3, port: Int = 0, fields: String...) throws -> (process: ChildProcess, port: Int) {
    let options = ["--size", String(size), "--port", String(port)] + fields.flatMap { ["--header", $0] }
    let child = try ChildProcess(try Surroundings.loadGenerator(), ["serve"] + options)
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("loadgen serve: \(child.errors)")
    }
    return (child, port)
  }
}
