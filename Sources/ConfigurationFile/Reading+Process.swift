import Settings

/// What concerns the process as a whole: its name, threads, log, limits and timeouts.
extension Reading {
  func processName(_ root: Section) -> String {
    guard let name = root.text("name") else { return "authproxy" }
    // A pseudonym in Via (RFC 9110 section 7.6.3) and a token in Proxy-Status (RFC 9209 section 2).
    guard FieldText.isToken(name.value), name.value.utf8.count <= 64, name.value.utf8.first.map(isLetter) == true else {
      error(name.place, "name must be a word of letters, digits and -._ that starts with a letter, at most 64 of them")
      return "authproxy"
    }
    return name.value
  }

  /// sf-token, RFC 8941 section 3.3.4.
  private func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) }

  func threads(_ root: Section) -> Int? {
    guard let text = root.text("threads"), text.value != "auto" else { return nil }
    guard let count = try? Units.integer(text.value), (1...256).contains(count) else {
      error(text.place, "threads must be auto or a number from 1 to 256, not \(shown(text.value))")
      return nil
    }
    return count
  }

  func watchInterval(_ root: Section) -> Int? {
    guard let text = root.text("watch_files") else { return 10_000 }
    if text.value == "off" { return nil }
    do throws(UnitError) {
      let interval = try Units.duration(text.value)
      if interval >= 100 { return interval }
      error(text.place, "watch_files must be off or at least 100ms, not \(shown(text.value))")
    } catch {
      self.error(text.place, "watch_files: \(shown(text.value)) \(error); or off")
    }
    return nil
  }

  func log(_ root: Section) -> LogSettings {
    var log = LogSettings()
    guard let section = root.section("log") else { return log }
    log.level = section.choice("level", among: LogSettings.Level.allCases, default: log.level)
    log.format = section.choice("format", among: [.json, .text], default: log.format)
    log.access = section.bool("access", default: log.access)
    switch section.text("file") {
    case nil: break
    case let file? where file.value == "stdout": log.destination = .standardOutput
    case let file? where file.value == "stderr": log.destination = .standardError
    case let file?: log.destination = .file(resolve(file.value))
    }
    section.finish()
    return log
  }

  func limits(_ root: Section) -> Limits {
    var limits = Limits()
    guard let section = root.section("limits") else { return limits }
    limits.connections = section.integer("connections", default: limits.connections, in: 1...10_000_000)
    limits.requestHead = section.size("request_head", default: limits.requestHead, in: 1024...(1 << 20))
    limits.responseHead = section.size("response_head", default: limits.responseHead, in: 1024...(1 << 20))
    limits.replayBody = section.size("replay_body", default: limits.replayBody, in: 0...(1 << 30))
    limits.waitingForCredential = section.integer(
      "waiting_for_credential", default: limits.waitingForCredential, in: 0...10_000_000)
    limits.upstreamConnections = section.integer("upstream_connections", default: limits.upstreamConnections, in: 1...1_000_000)
    section.finish()
    return limits
  }

  private struct Timeout {
    var key: String
    var field: WritableKeyPath<Timeouts, Int> & Sendable
    var least = 1
    /// Concerns one upstream, and may stand in its entry.
    var ofUpstream = false
  }

  private static let timeouts = [
    Timeout(key: "request_head", field: \.requestHead),
    Timeout(key: "idle", field: \.idle),
    Timeout(key: "upstream_idle", field: \.upstreamIdle, ofUpstream: true),
    Timeout(key: "resolve", field: \.resolve, ofUpstream: true),
    Timeout(key: "connect", field: \.connect, ofUpstream: true),
    Timeout(key: "response_head", field: \.responseHead, ofUpstream: true),
    Timeout(key: "stall", field: \.stall, ofUpstream: true),
    Timeout(key: "tunnel", field: \.tunnel, ofUpstream: true),
    Timeout(key: "credential", field: \.credential, ofUpstream: true),
    Timeout(key: "shutdown_delay", field: \.shutdownDelay, least: 0),
    Timeout(key: "drain", field: \.drain, least: 0),
  ]

  func timeouts(_ root: Section) -> Timeouts {
    var timeouts = Timeouts()
    guard let section = root.section("timeouts") else { return timeouts }
    for timeout in Reading.timeouts {
      timeouts[keyPath: timeout.field] = section.duration(
        timeout.key, default: timeouts[keyPath: timeout.field], atLeast: timeout.least)
    }
    section.finish()
    return timeouts
  }

  /// The global ones with what the entry sets otherwise.
  func timeouts(ofUpstream entry: Section, over global: Timeouts) -> Timeouts {
    var timeouts = global
    guard let section = entry.section("timeouts") else { return timeouts }
    for timeout in Reading.timeouts where timeout.ofUpstream {
      timeouts[keyPath: timeout.field] = section.duration(
        timeout.key, default: timeouts[keyPath: timeout.field], atLeast: timeout.least)
    }
    let others = Reading.timeouts.filter { !$0.ofUpstream }.map(\.key)
    section.refuse(others, because: "concerns no single upstream; it belongs to the global 'timeouts'")
    section.finish(ignoring: others)
    return timeouts
  }
}
