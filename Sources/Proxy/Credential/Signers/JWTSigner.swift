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
  /// What one request's last attempt was sent with.
  private final class Noted {
    var mint: JWTMint?
    /// Seconds that were added to our clock.
    var offset: Int64 = 0
  }

  override func note(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnyObject? {
    Noted()
  }

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?, by credential: AttachedCredential) -> Int {
    if case .jwt(let mint)? = credential.material { mint.sizeLimit } else { 0 }
  }

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    guard case .jwt(let mint)? = draft.credential.material else {
      return .refused(.internalError, why: "there is no key")
    }
    do throws(OpenSSLError) {
      let issued = try mint.issue(for: Self.peer(draft.origin), at: Self.now)
      guard issued.line.count <= block.room else {
        return .refused(.internalError, why: "the JWT does not fit into the head")
      }
      block.append(issued.line)
      if let noted = draft.noted as? Noted {
        noted.mint = mint
        noted.offset = issued.offset
      }
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
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, of noted: AnyObject?, from origin: OriginAuthority,
    isNews: Bool
  ) -> Reading {
    guard isNews, head.status >= 400, let noted = noted as? Noted, let mint = noted.mint else { return .other }
    if let clock = clock(head, in: bytes), mint.correct(Self.peer(origin), clock, used: noted.offset, at: Self.now) {
      skew = clock.offset
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
