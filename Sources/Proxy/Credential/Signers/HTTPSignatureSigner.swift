import Credentials
import Crypto
import EventIO
import Forwarding
import HTTPWire
import Signing

/// Signs each attempt as RFC 9421 says, with the digest of a body that it has.
final class HTTPSignatureSigner: RequestSigner {
  /// Of the latest version.
  private var current: (version: UInt64, signing: HTTPSigning)?

  init(_ policy: HTTPSignaturePolicy) {
    super.init()
    // Until the first attempt tells the version.
    current = (try? HTTPSigning(policy)).map { (0, $0) }
  }

  override func bodyUse(of head: WrittenHead, length: Int64?, noted: AnyObject?) -> BodyUse {
    guard length != 0, !ContentDigest.isDeclared(by: SignableRequest(head, isTLS: false)) else { return .streams }
    return .hashed(current?.signing.contentDigest == .sha512 ? .sha512 : .sha256)
  }

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?, by credential: AttachedCredential) -> Int {
    guard case .httpSignature(let policy)? = credential.material else { return 0 }
    // If the key cannot be opened, nothing is written.
    return (try? signing(policy, credential.version))?.sizeLimit ?? 0
  }

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    guard case .httpSignature(let policy)? = draft.credential.material else {
      return .refused(.internalError, why: "there is no key")
    }
    var body: UnsafeRawBufferPointer?
    if case .whole(let bytes) = draft.body { body = bytes }
    let request = SignableRequest(draft.head, isTLS: draft.origin.isTLS, body: body, digest: draft.digest)
    let isDeclared = ContentDigest.isDeclared(by: request)
    payload = isDeclared ? .declared : body == nil ? SignedPayload.none : .hashed
    do throws(OpenSSLError) {
      let signing = try signing(policy, draft.credential.version)
      if case .streamed = draft.body, !isDeclared { return .needsBody }
      let lines = try signing.fields(
        for: request, at: .init(created: wallClockSeconds()), nonce: signing.needsNonce ? Nonce.base64url() : nil)
      if body != nil, !isDeclared { for line in request.lines(of: ContentDigest.fieldName) { block.remove(line) } }
      guard lines.count <= block.room else { return .refused(.internalError, why: "the fields do not fit into the head") }
      block.append(lines)
      return .ready
    } catch {
      return .refused(.internalError, why: error.message)
    }
  }

  private func signing(_ policy: HTTPSignaturePolicy, _ version: UInt64) throws(OpenSSLError) -> HTTPSigning {
    if let current, current.version == version { return current.signing }
    let signing = try HTTPSigning(policy)
    current = (version, signing)
    return signing
  }
}
