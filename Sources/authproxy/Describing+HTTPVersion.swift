import Credentials
import Proxy
import Settings

extension Describing {
  /// What the entry's connections offer; nil: they have no TLS, and the entry says nothing about versions.
  /// - Parameters:
  ///   - credential: the entry's.
  ///   - isUpgrade: of a request that asks for WebSocket.
  static func httpVersion(_ upstream: UpstreamSettings, _ credential: CredentialPolicy?, isUpgrade: Bool = false) -> String? {
    let written = upstream.httpVersion
    guard upstream.origin.scheme == .https else {
      return written == .http1 ? nil : "\(written.rawValue): 1.1, as the origin has no TLS"
    }
    let old = "TLS offers http/1.1 alone"
    let holds = upstream.httpVersion(with: credential)
    if holds != written {
      return "\(written.rawValue): \(old), as credential \(credential?.name ?? "") authenticates connections"
    }
    switch holds {
    case .http1: return "1.1: \(old)"
    case .auto where isUpgrade: return "auto: \(old), as HTTP/2 has no Upgrade"
    case .auto: return "auto: TLS offers h2 and http/1.1, and the origin chooses"
    case .http2 where isUpgrade: return "2: TLS offers h2 alone; Upgrade is dropped, as HTTP/2 has none"
    case .http2: return "2: TLS offers h2 alone; an origin without it is 502"
    }
  }

  /// Of the protocols that were offered, the one that a server chose.
  static func chosen(_ alpn: String?) -> String {
    let offered = "offered h2 and http/1.1"
    guard let alpn else { return "\(offered): the server chose none, which is HTTP/1.1" }
    return "\(offered): the server chose \(alpn)"
  }
}
