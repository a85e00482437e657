import EventIO
import Fetch
import Settings
import Trust

extension Worker {
  /// Makes the exchange that `request` describes; `done` gets the body of a 200 within the limits, nil otherwise. An address that
  /// a certificate names is a stranger's wish: the rules for addresses hold. One that the operator wrote is not.
  func exchange(_ request: FetchRequest, done: @escaping ([UInt8]?) -> Void) {
    let fetch = HTTPFetch(
      method: request.body == nil ? .get : .post, url: request.url,
      fields: request.body == nil ? [] : [("Content-Type", Array("application/ocsp-request".utf8))], body: request.body ?? [],
      timeout: request.timeout, limitBytes: request.limitBytes, permits: request.isConfigured ? nil : addressRule())
    let material = snapshot.responderTrust
    let trust = request.isConfigured ? FetchTrust(material.evaluation, anchors: material.anchors) : nil
    fetches.start(fetch, under: trust) { outcome in
      guard case .success(let answer) = outcome, answer.status == 200 else { return done(nil) }
      done(answer.body)
    }
  }

  /// `permitted` for whoever resolves names by itself.
  private func addressRule() -> @Sendable (Address) -> Bool {
    let forbidden = snapshot.settings.forbiddenAddresses
    let own = acceptors.map(\.listener.socket.address)
    return { address in
      guard let bytes = address.bytes else { return false }
      return !forbidden.isForbidden(bytes) && !Worker.isOwn(address, among: own)
    }
  }
}
