import HTTPWire

/// Where the authorization server sends the browser with its answer.
public struct RedirectURI: Sendable, Hashable {
  public enum Problem: Error, Sendable, Hashable {
    case malformed
    case queryFragmentOrUserInformation
    /// http other than on 127.0.0.1, [::1] or localhost (RFC 8252 section 7.3), or another scheme.
    case notLoopback
  }

  /// What a login binds to receive the answer.
  public struct Listener: Sendable, Hashable {
    /// `localhost` means both, as nobody knows which one the browser tries.
    public enum Host: String, Sendable, Hashable {
      case ipv4 = "127.0.0.1"
      case ipv6 = "[::1]"
      case localhost = "localhost"
    }
    public var host: Host
    /// nil: any free one, the same for both families.
    public var port: UInt16?
  }

  /// As configured.
  public let text: String
  /// nil: no listener of ours receives the answer, so a person must paste it.
  public let listener: Listener?
  private let url: HTTPURL

  public init(_ text: String) throws(Problem) {
    guard text.utf8.count <= 2048 else { throw .malformed }
    do throws(HeadError) { url = try HTTPURL(text) } catch {
      switch error {
      case .userinfo, .fragment: throw .queryFragmentOrUserInformation
      case .scheme: throw .notLoopback
      default: throw .malformed
      }
    }
    guard !url.pathAndQuery.contains("?") else { throw .queryFragmentOrUserInformation }
    self.text = text
    guard !url.isHTTPS else {
      listener = nil
      return
    }
    let host: Listener.Host? =
      switch (url.hostKind, url.host) {
      case (.ipv4, "127.0.0.1"): .ipv4
      case (.ipv6, "::1"): .ipv6
      case (.name, "localhost"): .localhost
      default: nil
      }
    guard let host else { throw .notLoopback }
    listener = Listener(host: host, port: url.port)
  }

  private init(standardPath: String) {
    // The same value as from its text, which a test compares.
    guard let value = try? RedirectURI("http://127.0.0.1" + standardPath) else { preconditionFailure("not a URL") }
    self = value
  }

  /// `http://127.0.0.1/callback`, with a free port for each login (RFC 8252 section 7.3).
  public static let standard = RedirectURI(standardPath: "/callback")

  /// Path of the answer; `/` if the URL has none.
  var path: String { url.pathAndQuery.isEmpty ? "/" : url.pathAndQuery }

  /// What both requests name: the configured text, or with the listener's port if the configuration has none.
  func text(port: UInt16?) -> String {
    guard let listener, listener.port == nil, let port else { return text }
    return "http://\(listener.host.rawValue):\(port)\(url.pathAndQuery)"
  }

  /// Whether a Host field names the listener. Another one is a page of another site, whose name leads to this address.
  func isHost(_ field: String, port: UInt16) -> Bool {
    guard let listener else { return false }
    let host = field.lowercased()
    return host == "\(listener.host.rawValue):\(port)" || (port == 80 && host == listener.host.rawValue)
  }

  /// Whether a pasted URL, without query and fragment, leads here.
  func isDestination(_ other: String, port: UInt16?) -> Bool {
    guard let other = try? HTTPURL(other) else { return false }
    let expected = listener == nil ? url.effectivePort : port ?? url.effectivePort
    return other.isHTTPS == url.isHTTPS && other.hostKind == url.hostKind && other.host == url.host
      && other.effectivePort == expected && (other.pathAndQuery.isEmpty ? "/" : other.pathAndQuery) == path
  }
}

extension RedirectURI.Problem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .malformed: "it is not an absolute URL"
    case .queryFragmentOrUserInformation: "it has a query, a fragment or user information"
    case .notLoopback: "it is neither https nor http on 127.0.0.1, [::1] or localhost"
    }
  }
}
