import Credentials
import EventIO

/// Which Secret keeps the records, and how its API server is reached.
public struct KubernetesSettings: Sendable {
  /// Of the API server, without a path: `https://host:port`, or `http://` on loopback.
  public var server: String
  public var namespace: String
  /// Name of the Secret. It exists already.
  public var secret: String
  /// Milliseconds: of each request, and of a command with all that it waits for.
  public var timeout = 5_000
  /// Reads the bearer token, in `lane`. The text says why there is none, without any of it.
  public var readToken: @Sendable () -> Result<Secret, TokenUnreadable>
  /// Where `readToken` may block.
  public var lane: Lane

  public init(
    server: String, namespace: String, secret: String, lane: Lane = .files,
    readToken: @escaping @Sendable () -> Result<Secret, TokenUnreadable>
  ) {
    self.server = server
    self.namespace = namespace
    self.secret = secret
    self.lane = lane
    self.readToken = readToken
  }

  /// For texts: `Secret "tokens" in namespace "apps"`.
  var object: String { "Secret \"\(secret)\" in namespace \"\(namespace)\"" }
}
