import EventIO
import Fetch
import Trust

extension Upstreams {
  /// Fetches what `request` describes. `done` gets the body of a 200 within the limits, else nil. An outsider chose a URL that
  /// a certificate names, so the address rules apply to it. They do not apply to a URL that the operator wrote.
  func ask(_ request: FetchRequest, done: @escaping ([UInt8]?) -> Void) {
    var message = HTTPFetch(url: request.url, timeout: request.timeout, limitBytes: request.limitBytes)
    if let body = request.body {
      message.method = .post
      message.fields = [("Content-Type", Array("application/ocsp-request".utf8))]
      message.body = body
    }
    message.judgesParent = request.judgesParent
    // A URL in a certificate leads nowhere that an upstream's name may not lead either.
    if !request.isConfigured { message.permits = { [unowned self] in !permitted([$0]).isEmpty } }
    // A signed answer needs no TLS. If the operator wrote https, the responder's certificate is judged, but not its revocation
    // in turn.
    fetch.start(message, under: request.isConfigured ? rules.responderTrust : nil) { outcome in
      guard case .success(let answer) = outcome, answer.status == 200 else { return done(nil) }
      done(answer.body)
    }
  }
}
