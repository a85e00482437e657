import Crypto

/// Results of `read` and `write` that are not a count of bytes.
public enum TLSIO {
  /// The peer's close_notify: a clean end.
  public static let endOfStream = 0
  /// No data before the socket is readable.
  public static let wantRead = -1
  /// No progress before the socket is writable.
  public static let wantWrite = -2
  /// `lastError` says why; the connection is unusable.
  public static let failed = -3
  /// The transport ended without close_notify, so the data may have been cut.
  public static let truncated = -4
}

public enum HandshakeResult: Sendable, Hashable {
  case done
  case wantRead
  case wantWrite
  case failed(OpenSSLError)
}
