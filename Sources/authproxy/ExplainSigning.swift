import CSystem
import Credentials
import HTTPWire
import Settings

/// What `explain --sign` says about a credential that signs: what is signed, and never a key, a token or the signature. One function
/// for each kind.
struct ExplainSigning {
  /// Rows of the page, and the texts that are signed.
  struct Report {
    var rows: [(label: String, text: String)] = []
    /// Each with its lines.
    var texts: [(title: String, text: String)] = []
  }

  let method: String
  /// Path and query as they are written.
  let target: String
  /// The value of Host.
  let host: String
  let isTLS: Bool
  /// What happens to an app's own signature.
  let ownSignature: UpstreamSettings.ClientAuthorization
  /// Seconds since 1970.
  let now: Int64

  /// - Parameters:
  ///   - url: what the app asks for: absolute.
  ///   - target: path and query that the origin gets.
  ///   - origin: where it goes.
  init(
    method: String, url: String, target: String, origin: UpstreamSettings.Origin, keepsHost: Bool,
    ownSignature: UpstreamSettings.ClientAuthorization, now: Int64
  ) {
    self.method = method
    self.ownSignature = ownSignature
    isTLS = origin.scheme == .https
    self.now = now
    let rest = url.drop { $0 != ":" }.dropFirst(3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    self.target = target
    host =
      keepsHost
      ? String(authority) : Authority.text(host: origin.messageHost, port: origin.messagePort, defaultPort: isTLS ? 443 : 80)
  }

  /// nil: credentials of this kind sign nothing.
  func report(_ policy: CredentialPolicy) -> Report? {
    switch policy.kind {
    case .sigv4(let sigv4): self.sigV4(sigv4)
    case .hmac(let hmac): self.hmac(hmac)
    case .httpSignature(let signature): httpSignature(signature)
    case .digest: Report(rows: [("signs", "an answer to the origin's challenge; before it, nothing")])
    case .basic, .bearer, .header, .oauth2, .jwt, .negotiate, .query, .path: nil
    }
  }
}

extension Page {
  /// The texts as they are: a broken line would be another one.
  mutating func append(_ report: ExplainSigning.Report) {
    for line in report.rows { row(line.label, line.text) }
    for text in report.texts {
      heading(text.title)
      for line in text.text.split(separator: "\n", omittingEmptySubsequences: false) { heading("  " + line) }
    }
  }
}
