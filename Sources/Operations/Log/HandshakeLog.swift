import Logging
import Proxy

/// Tells why an app gave a handshake up, and what helps.
enum HandshakeLog {
  static func write(_ refusal: HandshakeRefusal, to logger: Logger) {
    var metadata: Logger.Metadata = ["client": "\(refusal.client)", "host": "\(refusal.host)", "hint": "\(hint(refusal))"]
    if let alert = refusal.alert { metadata["alert"] = "\(alert)" }
    if refusal.count > 1 { metadata["handshakes"] = "\(refusal.count)" }
    logger.warning("an app does not trust the proxy's certificate", metadata: metadata)
  }

  private static func hint(_ refusal: HandshakeRefusal) -> String {
    let start = refusal.alert == nil ? "if that is why it closes without a word, " : ""
    let trust =
      start + "let it trust our root: see `authproxy ca env` for the variable (SSL_CERT_FILE, REQUESTS_CA_BUNDLE, "
      + "NODE_EXTRA_CA_CERTS, JAVA_TOOL_OPTIONS and others)"
    return refusal.port.map { "\(trust); if it pins certificates, add \(refusal.host):\($0) to connect.allow" } ?? trust
  }
}
