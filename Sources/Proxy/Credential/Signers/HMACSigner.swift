import CSystem
import Credentials
import Crypto
import EventIO
import Forwarding
import HTTPWire
import Signing

/// Signs each attempt with a shared key, and writes the fields that the credential names.
final class HMACSigner: RequestSigner {
  /// Of the latest version.
  private var current: (version: UInt64, policy: HMACPolicy, signing: HMACSigning)?

  init(_ policy: HMACPolicy) {
    super.init()
    // Until the first attempt tells the version.
    current = (try? HMACSigning(policy)).map { (0, policy, $0) }
  }

  override func bodyUse(of head: WrittenHead, length: Int64?, noted: AnyObject?) -> BodyUse {
    guard length != 0, let policy = current?.policy, policy.needsBody else { return .streams }
    return policy.message.pieces.contains(.body) ? .whole : .hashed(.sha256)
  }

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?, by credential: AttachedCredential) -> Int {
    guard case .hmac(let policy)? = credential.material else { return 0 }
    // If there is no context for the key, nothing is written.
    return (try? signing(policy, credential.version))?.sizeLimit(head: head.count) ?? 0
  }

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    guard case .hmac(let policy)? = draft.credential.material else { return .refused(.internalError, why: "there is no key") }
    var body: UnsafeRawBufferPointer?
    if case .whole(let bytes) = draft.body { body = bytes }
    payload = body != nil && policy.needsBody ? .hashed : SignedPayload.none
    do throws(OpenSSLError) {
      let signing = try signing(policy, draft.credential.version)
      if case .streamed = draft.body, policy.needsBody { return .needsBody }
      let lines = try signing.fields(
        for: SignableRequest(draft.head, isTLS: draft.origin.isTLS, body: body, digest: draft.digest),
        at: HMACSigning.Moment(wall: csys_wall_clock() / 1_000_000), nonce: Nonce.hexadecimal)
      guard lines.count <= block.room else { return .refused(.internalError, why: "the fields do not fit into the head") }
      block.append(lines)
      return .ready
    } catch {
      return .refused(.internalError, why: error.message)
    }
  }

  private func signing(_ policy: HMACPolicy, _ version: UInt64) throws(OpenSSLError) -> HMACSigning {
    if let current, current.version == version { return current.signing }
    let signing = try HMACSigning(policy)
    current = (version, policy, signing)
    return signing
  }
}

/// 128 random bits, another one for each attempt.
enum Nonce {
  static func hexadecimal() throws(OpenSSLError) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(32)
    for byte in try SecureRandom.bytes(16) {
      for digit in [byte >> 4, byte & 15] {
        text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    }
    return text
  }

  static func base64url() throws(OpenSSLError) -> [UInt8] { Base64.encodeURL(try SecureRandom.bytes(16)) }
}
