/// How many connections one loop has to the origins behind an entry.
public struct PoolReport: Sendable {
  public enum State: String, Sendable, CaseIterable { case idle, active, connecting }

  /// Name of the entry; of the first one, if several share an origin.
  public var upstream: String
  public var idle, active, connecting: Int
  /// Requests on HTTP/2 connections.
  public var streams = 0
  /// HTTP/2 is offered.
  public var hasStreams = false
  /// When the certificate that the origin showed last expires, in seconds since 1970; nil: it showed none.
  public var certificateExpiry: Int64?

  public init(upstream: String, idle: Int, active: Int, connecting: Int, certificateExpiry: Int64? = nil) {
    self.upstream = upstream
    self.idle = idle
    self.active = active
    self.connecting = connecting
    self.certificateExpiry = certificateExpiry
  }

  public func count(_ state: State) -> Int {
    switch state {
    case .idle: idle
    case .active: active
    case .connecting: connecting
    }
  }
}
