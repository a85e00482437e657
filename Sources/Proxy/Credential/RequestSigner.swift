import Credentials
import EventIO
import Forwarding
import HTTPWire

/// A credential that depends on the request, or learns from answers. Each loop has one for each such credential; it is confined to the
/// loop, and outlives requests and reloads. A credential that is a fixed field has none.
class RequestSigner {
  /// What comes of an attempt. Kinds that fetch something, need the body's hash or change the body will have cases of their own.
  enum Preparation {
    /// Everything is in the block.
    case ready
    /// The request must not be sent. The text is for the log.
    case refused(ProxyError, why: String)
  }

  /// What an answer's head says.
  enum Reading {
    /// Nothing about the preparation. It may refuse the credential.
    case other
    /// How to prepare the request. It is no refusal: no refresh follows.
    /// - Parameter canAnswer: another attempt would differ from the last one.
    case challenge(canAnswer: Bool)
  }

  /// How often one request is sent again for a challenge.
  var rounds: UInt8 { 1 }

  /// Most bytes that `prepare` adds for this head.
  func sizeLimit(of head: UnsafeRawBufferPointer) -> Int { 0 }

  /// Called for each attempt, behind everything that could change the head: after the credential's line was added to the block.
  /// - Parameters:
  ///   - head: as it will be written, but for the credential, Expect and the blank line.
  ///   - block: has room for `sizeLimit`. Field lines with CRLF may be added.
  func prepare(
    _ head: WrittenHead, with credential: AttachedCredential, to origin: OriginAuthority, into block: Block
  ) -> Preparation { .ready }

  /// Called with the head of each answer, interim ones too. Drops fields that are not for the app.
  /// - Parameter isNews: false: it was read before, and only what is not for the app matters.
  func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, from origin: OriginAuthority, isNews: Bool
  ) -> Reading { .other }

  /// Nanoseconds between two reports of refused requests.
  private static let reportInterval: Int64 = 60_000_000_000
  private var reported: Int64?

  /// Whether a refused request is reported: each of many would fail for the same reason.
  /// - Parameter now: monotonic nanoseconds.
  final func admitsReport(at now: Int64) -> Bool {
    if let reported, now - reported < Self.reportInterval { return false }
    reported = now
    return true
  }
}

extension CredentialPolicy {
  /// It is more than a fixed field.
  var isSigned: Bool { if case .oauth2(let oauth2) = kind { oauth2.dpop != nil } else { false } }

  /// A new one for a loop; nil: the credential is a fixed field.
  func signer() -> RequestSigner? { isSigned ? DPoPSigner() : nil }
}
