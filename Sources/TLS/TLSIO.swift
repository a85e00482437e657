import Crypto

/// What `read` and `write` answer where it is not a count of bytes.
public enum TLSIO {
  /// The peer's close_notify: a clean end.
  public static let endOfStream = 0
  /// Nothing to be had before the socket is readable.
  public static let wantRead = -1
  /// Nothing to be done before the socket is writable.
  public static let wantWrite = -2
  /// `lastError` says why; the connection is of no more use.
  public static let failed = -3
  /// The transport ended without close_notify: what came before it may have been cut.
  public static let truncated = -4
}

public enum HandshakeResult: Sendable, Hashable {
  case done
  case wantRead
  case wantWrite
  case failed(OpenSSLError)
}
