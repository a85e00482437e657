import Credentials
import Crypto
import EventIO
import Forwarding
import HTTPWire

/// Proves with each attempt that the proxy has the token's key (RFC 9449 section 7), with the origin's latest nonce.
final class DPoPSigner: RequestSigner {
  /// Below a wildcard each host is an origin of its own.
  private static let maximumOrigins = 1_024
  private static let nonceField = Array("DPoP-Nonce".utf8)

  /// OpenSSL's context for the key in use. A login replaces the key.
  private var signer: (key: DPoPKey, context: P256Signer)?
  private var nonces: [OriginAuthority: [UInt8]] = [:]

  override var unansweredReason: RelayReason { .nonceRefused }

  override func tell(_ observer: LoopObserver, _ result: ChallengeResult, to credential: String, of entry: Entry) {
    if result == .answered { observer.challenged(entry) }
  }

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?) -> Int {
    guard let written = WrittenHead(head) else { return 0 }
    return DPoPProof.sizeLimit(method: written.method.count, uri: written.target.count + written.host.count + 8)
  }

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    let (head, origin) = (draft.head, draft.origin)
    guard let proof = draft.credential.proof else { return .refused(.internalError, why: "the token has no key") }
    do throws(OpenSSLError) {
      let text = try DPoPProof(
        method: head.method.bytes(in: head.bytes), uri: head.uri(isTLS: origin.isTLS), wall: wallClockSeconds(),
        tokenHash: proof.tokenHash, nonce: nonces[origin]
      ).signed(by: context(of: proof.key), of: proof.key)
      block.append("DPoP: ")
      block.append(text)
      block.append("\r\n")
      return .ready
    } catch {
      return .refused(.internalError, why: error.message)
    }
  }

  private func context(of key: DPoPKey) throws(OpenSSLError) -> P256Signer {
    if let signer, signer.key === key { return signer.context }
    let context = try key.signer()
    signer = (key, context)
    return context
  }

  override func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, from origin: OriginAuthority, isNews: Bool
  ) -> Reading {
    let isNonce = head.fields.only("DPoP-Nonce", in: bytes).map { isNews && take($0.value.bytes(in: bytes), from: origin) }
    head.fields.drop(named: Self.nonceField, in: bytes)
    guard head.status == 401, head.contains(.wwwAuthenticate),
      TokenChallenge.asksForNonce(head.fields.joinedValues(of: .wwwAuthenticate, in: bytes))
    else { return .other }
    return .challenge(canAnswer: isNonce ?? false)
  }

  /// - Returns: whether it is a nonce.
  private func take(_ value: UnsafeRawBufferPointer, from origin: OriginAuthority) -> Bool {
    guard DPoPNonce.isValid(value) else { return false }
    if let known = nonces[origin] {
      if value.elementsEqual(known) { return true }
    } else if nonces.count >= Self.maximumOrigins {
      // Any of them: its origin will name another one.
      nonces.remove(at: nonces.startIndex)
    }
    nonces[origin] = Array(value)
    return true
  }
}
