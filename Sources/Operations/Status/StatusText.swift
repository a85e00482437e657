import JSON

/// `/status` as a text for terminals. What the page does not have is left out, so that programs of different versions understand each
/// other.
public struct StatusText {
  /// An earlier reading, for rates.
  public struct Earlier {
    let status: JSONValue
    let seconds: Double
    /// - Parameter seconds: since it was taken.
    public init(_ status: JSONValue, seconds: Double) {
      self.status = status
      self.seconds = seconds
    }
  }

  /// Seconds for which a certificate must still be valid to need no attention.
  private static let near: Int64 = 30 * 86_400

  let status: JSONValue
  private let earlier: Earlier?
  let now: Int64
  let ink: Ink
  let width: Int

  /// - Parameters:
  ///   - width: columns; longer lines are cut.
  ///   - isColoured: with the codes of a terminal.
  /// - Returns: nil if that is no page of this program.
  public init?(_ status: JSONValue, since earlier: Earlier? = nil, width: Int, isColoured: Bool) {
    guard status["phase"]?.string != nil, let now = status["now"]?.integer else { return nil }
    self.status = status
    self.earlier = earlier
    self.now = now
    self.width = width
    ink = Ink(isColoured: isColoured)
  }

  public var lines: [String] {
    var lines = overview
    for section in [upstreams, credentials, pins, revocation, trouble] where !section.isEmpty { lines += [""] + section }
    return lines
  }

  // MARK: Overview

  private var overview: [String] {
    var parts = [
      ("authproxy " + (text(status["version"]) ?? "?"), TextTable.Tone.plain), (text(status["phase"]) ?? "?", .plain),
    ]
    if case .bool(let isReady)? = status["ready"] { parts.append(isReady ? ("ready", .good) : ("not ready", .bad)) }
    if let started = status["started"]?.integer {
      parts.append(("started " + VisibleText.distance(started, from: now), .plain))
    }
    if let generation = status["config"]?["generation"]?.integer { parts.append(("configuration \(generation)", .plain)) }
    var lines = [parts.map { ink.paint($0.0, $0.1) }.joined(separator: "  ")]
    let addresses = elements(status["addresses"]).compactMap { text($0) }
    if !addresses.isEmpty { lines.append(cut("listens on   " + addresses.joined(separator: ", "))) }
    var counts: [String] = []
    if let count = status["client_connections"]?.integer { counts.append("\(count) connections") }
    if let count = status["tunnels"]?.integer { counts.append("\(count) tunnels") }
    if !counts.isEmpty { lines.append("apps         " + counts.joined(separator: ", ")) }
    if let cache = status["cache"], let bytes = cache["bytes"]?.integer, let limit = cache["limit"]?.integer, limit > 0 {
      lines.append("cache        \(bytes >> 20) of \(limit >> 20) MiB, \(cache["objects"]?.integer ?? 0) answers")
    }
    if let store = status["token_store"] {
      let isUp = store["up"] != .bool(false)
      let why = text(store["reason"]).map { ": \($0)" } ?? ""
      lines.append(
        cut("token store  \(text(store["address"]) ?? "?") ")
          + ink.paint(cut((isUp ? "reachable" : "unreachable") + why), isUp ? .good : .bad))
    }
    if case .bool(false)? = status["config"]?["last_reload_successful"] {
      lines.append(ink.paint("The last reload failed; the configuration before it is in use:", .bad))
      lines += elements(status["config"]?["last_reload_errors"]).compactMap { text($0) }.map { cut("  " + $0) }
    }
    return lines
  }

  // MARK: Upstreams

  private var upstreams: [String] {
    var table = TextTable([
      .init(title: "UPSTREAM"), .init(title: "REQUESTS", isNumber: true), .init(title: "REQ/S", isNumber: true),
      .init(title: "2XX", isNumber: true), .init(title: "3XX", isNumber: true), .init(title: "4XX", isNumber: true),
      .init(title: "5XX", isNumber: true), .init(title: "OTHER", isNumber: true), .init(title: "P50", isNumber: true),
      .init(title: "P99", isNumber: true), .init(title: "BUSY", isNumber: true), .init(title: "IDLE", isNumber: true),
      .init(title: "HITS", isNumber: true), .init(title: "TRUST"), .init(title: "CERTIFICATE ENDS"),
      .init(title: "ORIGINS DOWN"),
    ])
    let all = elements(status["upstreams"])
    for upstream in all {
      let classes = Self.classes(of: upstream)
      func count(_ kind: Int, _ tone: TextTable.Tone = .plain) -> TextTable.Cell {
        .init("\(classes[kind])", classes[kind] > 0 ? tone : .plain)
      }
      let down = elements(upstream["origins"]).filter { $0["up"] == .bool(false) }.compactMap { text($0["origin"]) }
      table.add([
        .init(text(upstream["name"]) ?? "?"), .init("\(classes.reduce(0, Self.sum))"), .init(rate(upstream)), count(2),
        count(3),
        count(4, .warning), count(5, .bad), count(0, .warning), .init(duration(upstream["5m"]?["p50_seconds"])),
        .init(duration(upstream["5m"]?["p99_seconds"])), .init(number(upstream["connections_active"])),
        .init(number(upstream["connections_idle"])), .init(Self.hits(upstream["cache"])), trust(upstream["trust_state"]),
        end(upstream["certificate_expiry"]),
        .init(down.joined(separator: " "), .bad),
      ])
    }
    return all.isEmpty ? [] : table.lines(width: width, ink: ink)
  }

  /// Requests by the first digit of their status; 0: all others.
  private static func classes(of upstream: JSONValue) -> [Int64] {
    var counts = [Int64](repeating: 0, count: 6)
    guard case .object(let codes)? = upstream["requests"] else { return counts }
    for code in codes {
      let first = code.name.utf8.count == 3 ? Int(code.name.prefix(1)) ?? 0 : 0
      let kind = (2...5).contains(first) ? first : 0
      counts[kind] = sum(counts[kind], max(0, code.value.integer ?? 0))
    }
    return counts
  }

  /// A page may lie.
  private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
    let (sum, overflows) = first.addingReportingOverflow(second)
    return overflows ? .max : sum
  }

  /// Between two readings; of a single one: in the last 10 to 20 seconds, as the page says.
  private func rate(_ upstream: JSONValue) -> String {
    guard let earlier else { return decimal(upstream["5m"]?["per_second"]).map(Self.rate) ?? "" }
    guard earlier.seconds > 0, let name = upstream["name"],
      let before = elements(earlier.status["upstreams"]).first(where: { $0["name"] == name })
    else { return "" }
    let new = Self.classes(of: upstream).reduce(0, Self.sum)
    let old = Self.classes(of: before).reduce(0, Self.sum)
    // The proxy has been started again.
    guard new >= old else { return "" }
    return Self.rate(Double(new - old) / earlier.seconds)
  }

  private static func rate(_ rate: Double) -> String { rate < 1e9 ? Figure.rate(rate) : "?" }

  private func duration(_ seconds: JSONValue?) -> String {
    guard let seconds = decimal(seconds) else { return "" }
    return seconds < 1e9 ? Figure.duration(seconds) : "?"
  }

  private func trust(_ state: JSONValue?) -> TextTable.Cell {
    switch state?["state"]?.string {
    case nil, "unknown": .init("")
    case "clear": .init("no TLS")
    case "refused": .init("refused: \(text(state?["reason"]) ?? "?")", .bad)
    case let word?: .init(VisibleText.of(word), .good)
    }
  }

  /// The share of requests that the store answered, of those that it was asked for.
  private static func hits(_ cache: JSONValue?) -> String {
    guard case .object(let results)? = cache else { return "" }
    let all = results.reduce(0) { sum($0, max(0, $1.value.integer ?? 0)) }
    let hits = max(0, cache?["hit"]?.integer ?? 0)
    return all > 0 ? "\(Int((Double(hits) / Double(all) * 100).rounded())) %" : ""
  }

  // MARK: Credentials and trust

  private var credentials: [String] {
    var table = TextTable([
      .init(title: "CREDENTIAL"), .init(title: "STATE"), .init(title: "EXPIRES"), .init(title: "WAITING", isNumber: true),
      .init(title: "USERS", isNumber: true),
    ])
    let all = elements(status["credentials"])
    for credential in all {
      table.add([
        .init(text(credential["name"]) ?? "?"), state(credential), .init(credential["expiry"]?.integer.map(distance) ?? ""),
        .init(number(credential["waiting_requests"])), .init(number(credential["subjects"])),
      ])
    }
    var lines = all.isEmpty ? [] : table.lines(width: width, ink: ink)
    for credential in all {
      guard let reason = text(credential["reason"]) else { continue }
      lines.append(cut("\(VisibleText.cut(text(credential["name"]) ?? "?", to: TextTable.longestCell)): \(reason)"))
    }
    return lines
  }

  /// In words.
  private func state(_ credential: JSONValue) -> TextTable.Cell {
    if credential["login"]?["needed"] == .bool(true) {
      return .init("needs you: authproxy login \(text(credential["name"]) ?? "")", .bad)
    }
    return switch credential["state"]?.string {
    case "empty": .init("not used yet")
    case "ready": .init("fresh", .good)
    case "failed": .init("failing", .bad)
    case "needs_operator": .init("needs an operator", .bad)
    default: .init(text(credential["state"]) ?? "?")
    }
  }

  private var pins: [String] {
    var table = TextTable([.init(title: "PINS OF"), .init(title: "END")])
    let all = elements(status["pins"])
    for pin in all { table.add([.init(text(pin["trust"]) ?? "?"), end(pin["expiry"])]) }
    return all.isEmpty ? [] : table.lines(width: width, ink: ink)
  }

  func end(_ value: JSONValue?) -> TextTable.Cell {
    guard let time = value?.integer else { return .init("") }
    let left = time.subtractingReportingOverflow(now).partialValue
    return .init(distance(time), left < 0 ? .bad : left < Self.near ? .warning : .plain)
  }

  // MARK: Values

  func distance(_ time: Int64) -> String { VisibleText.distance(time, from: now) }
  func text(_ value: JSONValue?) -> String? { value?.string.map(VisibleText.of) }
  /// Not negative.
  private func decimal(_ value: JSONValue?) -> Double? {
    guard case .number(let text)? = value else { return nil }
    return Double(text).flatMap { $0 >= 0 ? $0 : nil }
  }
  func number(_ value: JSONValue?) -> String { value?.integer.map(String.init) ?? "" }
  func cut(_ line: String) -> String { VisibleText.cut(line, to: width) }
  func elements(_ value: JSONValue?) -> [JSONValue] {
    if case .array(let elements)? = value { elements } else { [] }
  }
}
