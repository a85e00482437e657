import Settings

/// Reads the keys of the process as a whole: name, log, limits and timeouts.
extension Reading {
  func processName(_ root: Section<RootKeys>) -> String {
    guard let name = root.read(\.name) else { return Settings.standardName }
    // A pseudonym in Via (RFC 9110 section 7.6.3) and a token in Proxy-Status (RFC 9209 section 2).
    guard FieldText.isToken(name.value), name.value.utf8.count <= 64, name.value.utf8.first.map(isLetter) == true else {
      error(name.place, "name must be at most 64 letters, digits and -._ and must start with a letter")
      return Settings.standardName
    }
    return name.value
  }

  /// sf-token, RFC 8941 section 3.3.4.
  private func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) }

  func log(_ root: Section<RootKeys>) -> LogSettings {
    var log = LogSettings()
    guard let section = root.read(\.log) else { return log }
    log.level = section.read(\.level)
    log.format = section.read(\.format)
    log.access = section.read(\.access)
    switch section.read(\.file) {
    case nil: break
    case let file? where file.value == LogKeys.standardOutput: log.destination = .standardOutput
    case let file? where file.value == LogKeys.standardError: log.destination = .standardError
    case let file?: log.destination = .file(resolve(file.value))
    }
    return log
  }

  func limits(_ root: Section<RootKeys>) -> Limits {
    var limits = Limits()
    guard let section = root.read(\.limits) else { return limits }
    limits.connections = section.read(\.connections)
    limits.requestHead = section.read(\.requestHead)
    limits.responseHead = section.read(\.responseHead)
    limits.replayBody = section.read(\.replayBody)
    limits.hashedBody = section.read(\.hashedBody)
    limits.buffers = section.read(\.buffers)
    limits.ofCredentials.waiting = section.read(\.waitingForCredential)
    limits.ofCredentials.subjectTokens = section.read(\.subjectTokens)
    limits.upstreamConnections = section.read(\.upstreamConnections)
    limits.ofStreams.upstream = section.read(\.upstreamStreams)
    limits.ofStreams.client = section.read(\.clientStreams)
    limits.cache = section.read(\.cache)
    return limits
  }

  func timeouts(_ root: Section<RootKeys>) -> Timeouts {
    var timeouts = Timeouts()
    guard let section = root.read(\.timeouts) else { return timeouts }
    timeouts.ofClients.requestHead = section.read(\.requestHead)
    timeouts.ofClients.idle = section.read(\.idle)
    timeouts.ofClients.handshake = section.read(\.handshake)
    timeouts.ofShutdown.delay = section.read(\.shutdownDelay)
    timeouts.ofShutdown.drain = section.read(\.drain)
    replace(&timeouts, section, \.ofOrigin)
    return timeouts
  }

  /// The global timeouts, with the entry's own in place of those that it sets.
  func timeouts(ofUpstream entry: Section<UpstreamKeys>, over global: Timeouts) -> Timeouts {
    var timeouts = global
    if let section = entry.read(\.timeouts) { replace(&timeouts, section, \.ofOrigin) }
    return timeouts
  }

  private func replace<Keys: KeySet>(
    _ timeouts: inout Timeouts, _ section: Section<Keys>, _ group: (Keys) -> OriginTimeoutKeys
  ) {
    func replace(_ key: (OriginTimeoutKeys) -> Key<Int?>, _ timeout: inout Int) {
      if let written = section.read({ key(group($0)) }) { timeout = written }
    }
    replace(\.upstreamIdle, &timeouts.upstreamIdle)
    replace(\.resolve, &timeouts.resolve)
    replace(\.connect, &timeouts.connect)
    replace(\.responseHead, &timeouts.responseHead)
    replace(\.stall, &timeouts.stall)
    replace(\.tunnel, &timeouts.tunnel)
    replace(\.credential, &timeouts.credential)
    replace(\.collapse, &timeouts.collapse)
  }
}
