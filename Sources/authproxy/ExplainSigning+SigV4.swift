import Credentials
import Forwarding
import HTTPWire
import Settings
import Signing

extension ExplainSigning {
  /// A request without a body and without fields of the app's.
  func sigV4(_ policy: SigV4Policy) -> Report {
    var report = Report()
    let signature: SigV4Signature? = Array(target.utf8).withUnsafeBytes { given in
      var target = Array(given)
      var app: AppSignature?
      if let found = AppSignature(presigned: given) {
        if let row = fate(of: found) {
          report.rows.append(row)
          return nil
        }
        app = found
        target = withoutSignature(given)
      }
      return sign(target, app, policy, &report)
    }
    guard let signature else { return report }
    report.rows += [
      ("service", String(decoding: signature.scope.service, as: UTF8.self)),
      ("region", String(decoding: signature.scope.region, as: UTF8.self)),
      ("payload", payload(policy, signature.scope.service)),
    ]
    report.texts = [
      ("canonical request", String(decoding: signature.canonicalRequest, as: UTF8.self)),
      ("string to sign", String(decoding: signature.stringToSign, as: UTF8.self)),
    ]
    if hasToken(policy) {
      report.rows.append(("note", "the session token is shown as ***; the hash in the string to sign is of this text"))
    }
    return report
  }

  private func sign(_ target: [UInt8], _ app: AppSignature?, _ policy: SigV4Policy, _ report: inout Report) -> SigV4Signature? {
    let found = Array(host.utf8).withUnsafeBytes { host in
      Result { () throws(ScopeRules.Problem) in try ScopeRules(policy).scope(app: app?.scope, host: host) }
    }
    let scope: SigningScope
    switch found {
    case .success(let known): scope = known
    case .failure(let error):
      report.rows.append(("refused", problem(error)))
      return nil
    }
    let isS3 = PathForm(of: scope.service) == .asWritten
    return Array(method.utf8).withUnsafeBytes { method in
      target.withUnsafeBytes { target in
        Array(host.utf8).withUnsafeBytes { host in
          SigV4Signature(
            of: SigV4Request(
              method: method, target: target, host: host, fields: UnsafeRawBufferPointer(start: nil, count: 0)), for: scope,
            at: SigningTime(now), token: hasToken(policy) ? Array("***".utf8) : nil,
            payload: SigV4Payload.none.line(body: UnsafeRawBufferPointer(start: nil, count: 0)), writesPayload: isS3)
        }
      }
    }
  }

  /// nil: the proxy's signature replaces it.
  private func fate(of app: AppSignature) -> (label: String, text: String)? {
    switch ownSignature {
    case .keep: ("signs", "nothing: the app's own signature passes untouched ('client_authorization' is keep)")
    case .reject: ("refused", "403: the app sends a signature of its own ('client_authorization' is reject)")
    case .replace where app.algorithm == .other: ("refused", "501: the app's signature is not AWS4-HMAC-SHA256")
    case .replace: nil
    }
  }

  private func withoutSignature(_ target: UnsafeRawBufferPointer) -> [UInt8] {
    withUnsafeTemporaryAllocation(byteCount: max(target.count, 1), alignment: 1) { buffer in
      var writer = ByteWriter(buffer)
      writer.append(withoutSignature: target)
      return Array(writer.written)
    }
  }

  private func hasToken(_ policy: SigV4Policy) -> Bool {
    switch policy.keys {
    case .fixed(let keys): keys.sessionToken != nil
    case .fetched: true
    }
  }

  private func payload(_ policy: SigV4Policy, _ service: [UInt8]) -> String {
    let isS3 = PathForm(of: service) == .asWritten
    return switch policy.payload {
    case .unsigned where isS3: "none here; of a body UNSIGNED-PAYLOAD, unless the app declares something else"
    case .auto where isS3 && isTLS:
      "none here; of a body with a length UNSIGNED-PAYLOAD, of another its hash, unless the app declares something else"
    case .signed: "none here; of a body its hash, or the app's, or signed chunks"
    case .auto, .unsigned: "none here; of a body its hash, unless the app declares something else"
    }
  }

  private func problem(_ problem: ScopeRules.Problem) -> String {
    func text(_ name: [UInt8]) -> String { String(decoding: name, as: UTF8.self) }
    return switch problem {
    case .unknownService: "502: neither 'service' nor the host names the service; the app's own signature may"
    case .unknownRegion: "502: neither 'region' nor the host nor AWS_REGION names the region; the app's own signature may"
    case .serviceNotListed(let name): "403: service \(text(name)) is not in 'service'"
    case .regionNotListed(let name): "403: region \(text(name)) is not in 'region'"
    case .serviceNotNamed(let name): "403: service \(text(name)) gives or takes keys, and 'service' does not name it"
    }
  }
}
