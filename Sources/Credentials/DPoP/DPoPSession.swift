import Crypto

/// Proofs for the requests to an authorization server, with the nonces that its answers name.
public struct DPoPSession: Sendable {
  public let key: DPoPKey
  /// By scheme and authority: the endpoints of one server can be on several hosts.
  private var nonces: [String: [UInt8]] = [:]
  /// The endpoints of one server.
  private static let maximumHosts = 16

  public init(_ key: DPoPKey) { self.key = key }

  /// Adds a proof of its own to a request.
  /// - Parameter wall: Unix seconds.
  func proving(_ request: TokenHTTPRequest, wall: Int64) throws(TokenFailure) -> TokenHTTPRequest {
    do throws(OpenSSLError) {
      let proof = try DPoPProof(
        method: request.method.rawValue.utf8, uri: Array(request.url.utf8), wall: wall, nonce: nonces[Self.origin(request.url)])
      var request = request
      request.fields.append(("DPoP", Secret(try proof.signed(by: key.signer(), of: key))))
      return request
    } catch {
      throw .signing(error.message)
    }
  }

  /// Takes the nonce of an answer.
  /// - Parameter nonce: the DPoP-Nonce field; nil: there is none, or more than one.
  /// - Returns: whether the answer has a usable one.
  @discardableResult
  mutating func take(_ nonce: String?, from url: String) -> Bool {
    guard let nonce, DPoPNonce.isValid(nonce.utf8) else { return false }
    let origin = Self.origin(url)
    guard nonces[origin] != nil || nonces.count < Self.maximumHosts else { return false }
    nonces[origin] = Array(nonce.utf8)
    return true
  }

  /// Takes the nonces that a copy of `before` has got since.
  mutating func learn(from ended: DPoPSession, since before: DPoPSession?) {
    for (origin, nonce) in ended.nonces where before?.nonces[origin] != nonce { nonces[origin] = nonce }
  }

  private static func origin(_ url: String) -> String { (try? EndpointURL(url).origin.lowercased()) ?? url }
}
