import Credentials
import Crypto
import Fetch

extension HTTPFetch {
  /// The request as it is sent, signed if it must be.
  /// - Parameter timeout: milliseconds, for a request that names none.
  init(_ request: TokenHTTPRequest, timeout: Int) throws(OpenSSLError) {
    var fields = request.fields.map { (name: $0.name, value: $0.value.bytes) }
    if let signature = request.signature { fields += try signature.fields(for: request) }
    let method: HTTPFetch.Method =
      switch request.method {
      case .get: .get
      case .post: .post
      case .put: .put
      }
    self.init(
      method: method, url: request.url, fields: fields, body: request.body.bytes, timeout: request.timeout ?? timeout,
      limitBytes: request.maximumAnswer, sharesConnections: method == .get)
    goesDirectly = request.isLocal
  }
}
