/// The limits of one session. All sizes are in bytes.
public struct SessionLimits: Sendable {
  /// Streams at once: those that we begin (client), those that the peer may begin (server); 1...1000.
  public var streams: Int
  /// Decoded size of a header section: name, value and 32 for each field (RFC 9113 section 6.5.2).
  public var headerSection: Int

  public init(streams: Int = 100, headerSection: Int = 64 << 10) {
    self.streams = streams
    self.headerSection = headerSection
  }

  /// Before the peer's SETTINGS say otherwise.
  static let unknownPeerStreams = 100
  /// A stream's first window in each direction, and the most body bytes that a session holds unsent.
  static let firstWindow = 64 << 10
  static let largestWindow = 4 << 20
  /// What all windows of a connection may grow in sum.
  static let windowGrowth = 16 << 20
  /// The connection's window. It bounds nothing in memory, as each stream's own window does.
  static let connectionWindow = 16 << 20
  static let interimHeads = 32
  /// nghttp2 holds about so many bytes for each frame that it has not sent.
  static let unsentFrameCost = 128
  static let unsentControlFrames = 256 << 10
  /// A request or an answer of ours has at most so many bytes of fields.
  static let sentHeaderBlock = 1 << 20
}
