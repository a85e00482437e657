import TLS

extension Settings {
  /// What apps on this machine put into `https_proxy`: the first listener with a port; nil if there is none.
  public var proxyURL: String? {
    for listener in listeners {
      guard case .tcp(let host, let port) = listener.endpoint, port != 0 else { continue }
      let reached = listener.tls.map { $0.firstName ?? host } ?? host
      let written: String
      switch reached {
      // Every address is none that could be called.
      case "0.0.0.0": written = "127.0.0.1"
      case "::": written = "[::1]"
      case _ where reached.utf8.contains(UInt8(ascii: ":")): written = "[\(reached)]"
      default: written = reached
      }
      return "\(listener.tls == nil ? "http" : "https")://\(written):\(port)"
    }
    return nil
  }
}

extension ListenerTLS {
  /// A name that its certificate speaks for; nil if that has wildcards alone.
  fileprivate var firstName: String? {
    switch identity {
    case .leaf(let names): return names.first
    case .files(let files):
      guard let leaf = try? Certificate.parse(pem: files.certificates).first else { return nil }
      for case .dns(let name) in leaf.alternativeNames where !name.hasPrefix("*") { return name }
      return nil
    }
  }
}
