import EventIO
import Fetch
import Trust

extension Worker {
  /// Makes the exchange that `request` describes; `done` gets the body of a 200 within the limits, nil otherwise.
  func exchange(_ request: FetchRequest, done: @escaping ([UInt8]?) -> Void) {
    var message = HTTPFetch(url: request.url, timeout: request.timeout, limitBytes: request.limitBytes)
    if let body = request.body {
      message.method = .post
      message.fields = [("Content-Type", Array("application/ocsp-request".utf8))]
      message.body = body
    }
    // A pointer out of a certificate leads nowhere that an upstream's name may not lead either.
    if !request.isConfigured { message.permits = { [unowned self] in !permitted([$0]).isEmpty } }
    // What was signed needs no TLS; an operator who wrote https: has it judged as upstreams are.
    fetch.start(message, under: request.isConfigured ? snapshot.defaultTrust.forFetches : nil) { outcome in
      guard case .success(let answer) = outcome, answer.status == 200 else { return done(nil) }
      done(answer.body)
    }
  }
}
