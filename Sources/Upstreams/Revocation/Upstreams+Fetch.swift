import EventIO
import Fetch
import Trust

extension Upstreams {
  /// Asks what `request` describes; `done` gets the body of a 200 within the limits, nil otherwise. An address that
  /// a certificate names is a stranger's wish: the rules for addresses hold. One that the operator wrote is not.
  func ask(_ request: FetchRequest, done: @escaping ([UInt8]?) -> Void) {
    var message = HTTPFetch(url: request.url, timeout: request.timeout, limitBytes: request.limitBytes)
    if let body = request.body {
      message.method = .post
      message.fields = [("Content-Type", Array("application/ocsp-request".utf8))]
      message.body = body
    }
    // A pointer out of a certificate leads nowhere that an upstream's name may not lead either.
    if !request.isConfigured { message.permits = { [unowned self] in !permitted([$0]).isEmpty } }
    // What is signed needs no TLS; where an operator wrote https: it is judged, but its own revocation is not asked about in turn.
    fetch.start(message, under: request.isConfigured ? rules.responderTrust.forFetches : nil) { outcome in
      guard case .success(let answer) = outcome, answer.status == 200 else { return done(nil) }
      done(answer.body)
    }
  }
}
