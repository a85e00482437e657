import Credentials
import EventIO
import Forwarding
import HTTPWire

/// Writes a credential into the target of each attempt, and takes it out of what the origin answers with. It signs nothing.
final class TargetSigner: RequestSigner {
  /// What the attempts of one request have sent.
  private final class Sent {
    var secrets: [EchoedSecret] = []
    var version: UInt64?
  }

  override func note(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnyObject? {
    Sent()
  }

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?, by credential: AttachedCredential) -> Int {
    guard case .target(let part)? = credential.material else { return 0 }
    return TargetCredential.growth(of: part.text.count)
  }

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    guard case .target(let part)? = draft.credential.material, let target = draft.target, let sent = draft.noted as? Sent else {
      return .refused(.internalError, why: "there is no value")
    }
    if sent.version != draft.credential.version {
      sent.version = draft.credential.version
      sent.secrets.append(EchoedSecret(part.value.bytes, as: target.form))
    }
    // The block has the head with the target as it was written for all attempts. There is no line of the credential behind it.
    let head = draft.head
    block.clear()
    var writer = ByteWriter(block.base, capacity: block.capacity)
    writer.append(UnsafeRawBufferPointer(rebasing: head.bytes[..<head.target.start]))
    target.write(head.target.bytes(in: head.bytes), with: part.text, into: &writer)
    writer.append(UnsafeRawBufferPointer(rebasing: head.bytes[head.target.end...]))
    block.end = writer.count
    return .ready
  }

  override func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, of noted: AnyObject?, from origin: OriginAuthority,
    isNews: Bool
  ) -> Reading {
    // The bytes are in a block of the exchange, or of the answer that is held.
    if let sent = noted as? Sent { for secret in sent.secrets { secret.remove(from: &head, in: bytes) } }
    return .other
  }
}
