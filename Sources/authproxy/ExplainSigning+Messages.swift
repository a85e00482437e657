import Credentials
import Crypto
import Signing

/// Requests without a body and without fields of the app's.
extension ExplainSigning {
  func hmac(_ policy: HMACPolicy) -> Report {
    var report = Report(rows: [("note", "nonces, and the credential's own values, are shown as ***")])
    if policy.message.pieces.contains(.body) { report.rows.append(("", "the body stands where {body} is; this one is empty")) }
    return shown("message", report) { () throws(OpenSSLError) in
      try ShownSignature.message(policy, method: method, target: target, host: host, isTLS: isTLS, now: now)
    }
  }

  func httpSignature(_ policy: HTTPSignaturePolicy) -> Report {
    var report = Report(rows: [("algorithm", policy.algorithm.rawValue)])
    report.rows.append(("note", "fields that the app sends are covered as 'components' says; a body always, by content-digest"))
    return shown("signature base", report) { () throws(OpenSSLError) in
      try ShownSignature.base(policy, method: method, target: target, host: host, isTLS: isTLS, now: now)
    }
  }

  private func shown(_ title: String, _ known: Report, _ text: () throws(OpenSSLError) -> [UInt8]?) -> Report {
    do throws(OpenSSLError) {
      guard let bytes = try text() else { return Report(rows: [("signs", "nothing: this is no request")]) }
      var report = known
      report.texts = [(title, String(decoding: bytes, as: UTF8.self))]
      return report
    } catch { return Report(rows: [("signs", "nothing: \(error.message)")]) }
  }
}
