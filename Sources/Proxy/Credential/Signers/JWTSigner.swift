import CSystem
import Credentials
import Crypto
import EventIO
import Forwarding
import HTTPWire
import JSON
import Signing

/// Sends the JWT that all loops share, and learns from answers whether an origin's clock or Apple refuses it.
final class JWTSigner: RequestSigner {
  /// What the last attempt used.
  private var mint: JWTMint?

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?) -> Int {
    mint?.sizeLimit ?? CredentialRenderer.maximumValue
  }

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    guard case .jwt(let mint)? = draft.credential.material else {
      return .refused(.internalError, why: "there is no key")
    }
    self.mint = mint
    do throws(OpenSSLError) {
      let line = try mint.line(for: Self.peer(draft.origin), at: Self.now)
      guard line.count <= block.room else { return .refused(.internalError, why: "the JWT does not fit into the head") }
      block.append(line)
      return .ready
    } catch {
      return .refused(.internalError, why: error.message)
    }
  }

  private static func peer(_ origin: OriginAuthority) -> JWTMint.Peer {
    JWTMint.Peer(isTLS: origin.isTLS, host: origin.hostLine)
  }

  private static var now: JWTMint.Instant {
    JWTMint.Instant(monotonic: csys_monotonic() / 1_000_000, wall: wallClockSeconds())
  }

  override func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, from origin: OriginAuthority, isNews: Bool
  ) -> Reading {
    guard isNews, head.status >= 400, let mint else { return .other }
    let now = Self.now
    let taken = times.sent == 0 ? 0 : now.monotonic / 1000 - times.sent / 1_000_000_000
    let offset = AnswerDate.offset(
      status: head.status, fields: head.fields, in: bytes, sent: now.wall - taken, received: now.wall)
    if let offset, mint.correct(Self.peer(origin), by: offset, at: now) {
      return .challenge(canAnswer: true)
    }
    return mint.policy.preset == .apns && head.status == 403 ? .needsBody : .other
  }

  override func read(
    body: [UInt8], of head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, from origin: OriginAuthority
  ) -> Reading {
    guard let reason = (try? JSONParser.parse(body))?["reason"]?.string else { return .other }
    return reason == "ExpiredProviderToken" || reason == "InvalidProviderToken" ? .refused : .other
  }
}
