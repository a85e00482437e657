import Routing

extension UpstreamSettings {
  /// The part that decides which requests the entry serves.
  public var routed: RoutedEntry {
    var entry = RoutedEntry(name: name, matches: matches, clients: clients, hasCredential: credential != nil)
    entry.methods = methods
    entry.originPath = origin.path
    entry.origins = origins.map { origin in
      RoutedEntry.Origin(
        isHTTPS: origin.scheme == .https, host: origin.messageHost, port: origin.messagePort,
        changesPath: stripsPrefix || !origin.path.isEmpty)
    }
    return entry
  }
}
