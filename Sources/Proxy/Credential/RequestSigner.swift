import CSystem
import Credentials
import Crypto
import EventIO
import Forwarding
import HTTPWire
import Signing

/// A credential that depends on the request, or learns from answers. Each loop has one for each such credential; it is confined to the
/// loop, and outlives requests and reloads. A credential that is a fixed field has none.
class RequestSigner {
  /// What comes of an attempt.
  enum Preparation {
    /// Everything is in the block.
    case ready
    /// The same. What the app sends of its body goes through the transform.
    case transforms(BodyTransform)
    /// The head depends on the body, which streams so far: `prepare` is called again when it has been read whole.
    case needsBody
    /// Something is fetched or computed elsewhere. `prepare` is called again once `request.preparationArrived()` was called, which must be
    /// later than `prepare`.
    case wait
    /// The request must not be sent. The text is for the log.
    case refused(ProxyError, why: String)
  }

  /// What an answer says.
  enum Reading {
    /// Nothing about the preparation. Its status may refuse the credential.
    case other
    /// How to prepare the request. It is no refusal: no refresh follows.
    /// - Parameter canAnswer: another attempt would differ from the last one.
    case challenge(canAnswer: Bool)
    /// It refuses the credential, whatever its status: what a 401 is.
    case refused
    /// The first bytes of its body tell. `read(body:)` follows.
    case needsBody
    /// A challenge whose answer must come over the same connection. The connection belongs to the app's connection from now on, so that
    /// no other request gets it; the answer's body is read first, and `read(body:)` follows if there is one.
    case continues
    /// It does not prove what it should: nothing of it is relayed.
    case invalid(ProxyError)
  }

  /// What an attempt needs of the request's body.
  enum BodyUse {
    case streams
    /// Read whole before a connection is taken, up to `limits.hashed_body`. It can be sent again whatever `replay_body` says.
    case whole
    /// The same, and its digest is computed as it comes: a large one must not hold up the loop.
    case hashed(RunningDigest.Algorithm)
  }

  /// A request's body when its head is prepared.
  enum Body {
    case none
    /// It was read whole; it leaves with Content-Length.
    case whole(UnsafeRawBufferPointer)
    /// - Parameter length: nil: it is chunked.
    case streamed(length: Int64?)
  }

  /// One attempt before it is sent: what is signed, and for whom.
  struct Draft {
    /// As it will be written, but for the credential, Expect and the blank line.
    let head: WrittenHead
    let body: Body
    /// Of the whole body, if `bodyUse` asked for it.
    let digest: [UInt8]?
    let credential: AttachedCredential
    /// Where the credential goes, if it is a part of the target.
    let target: TargetCredential?
    let origin: OriginAuthority
    /// What `note` has kept.
    let noted: AnyObject?
    /// Waits with `Preparation.wait`.
    let request: CredentialWaiter
  }

  /// How often one request is sent again for a challenge.
  var rounds: UInt8 { 1 }
  /// What is said of a challenge that is relayed.
  var unansweredReason: RelayReason { .challengedAgain }
  /// Reports what came of a challenge.
  func tell(_ observer: LoopObserver, _ result: ChallengeResult, to credential: String, of entry: Entry) {
    observer.challenged(credential, result)
  }
  /// When the exchange happened whose answer is read, in nanoseconds of the loop's clock.
  struct Times {
    /// The request's last byte; 0: it was not sent whole.
    var sent: Int64 = 0
    /// The answer's head.
    var answered: Int64 = 0
  }
  final var times = Times()
  /// Seconds that the origin's clock is ahead of ours, as the answer that was read last has shown; nil: it has shown nothing. Who reads it
  /// takes it.
  final var skew: Int64?
  /// How the request that was prepared last covers its body; for log and metrics. nil: it signs nothing.
  final var payload: SignedPayload?

  /// The configuration was read again, and the credential is the same but for this.
  func adopt(_ policy: CredentialPolicy) {}

  /// Called when a request comes, while the app's head is still whole.
  /// - Returns: what `prepare` needs to know of it; nil: nothing.
  /// - Throws: the request is not signed, and not sent.
  func note(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnyObject? { nil }

  /// Called when the head is written, before a connection or the credential is there: what will not be signed costs neither.
  /// - Parameters:
  ///   - length: of the body; nil: it is chunked.
  ///   - credential: its name, for people.
  /// - Returns: the request is not sent; the text is for the log. nil: nothing is known against it.
  func refusal(
    of head: WrittenHead, length: Int64?, noted: AnyObject?, isTLS: Bool, by credential: String
  ) -> (error: ProxyError, why: String)? { nil }

  /// Called before a connection is taken.
  /// - Parameter length: of the body; nil: it is chunked.
  func bodyUse(of head: WrittenHead, length: Int64?, noted: AnyObject?) -> BodyUse { .streams }

  /// Most bytes that `prepare` adds for this head.
  func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?) -> Int { 0 }

  /// The same, where it depends on the key: another version may have a longer one. A signer overrides one of both.
  func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?, by credential: AttachedCredential) -> Int {
    sizeLimit(of: head, noted: noted)
  }

  /// Called for each attempt, behind everything that could change the head: after the credential's line was added to the block.
  /// - Parameter block: has room for `sizeLimit`. Field lines with CRLF may be added.
  func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    // Never unsigned.
    .refused(.internalError, why: "nothing signs this kind of credential")
  }

  /// Called with the head of each answer, interim ones too. Drops fields that are not for the app.
  /// - Parameter isNews: false: it was read before, and only what is not for the app matters.
  func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, from origin: OriginAuthority, isNews: Bool
  ) -> Reading { .other }

  /// The same, with what `note` has kept of the request. A signer overrides one of both.
  func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, of noted: AnyObject?, from origin: OriginAuthority,
    isNews: Bool
  ) -> Reading { read(&head, in: bytes, from: origin, isNews: isNews) }

  /// Called behind `Reading.needsBody`.
  /// - Parameter body: the whole body, or its first 16 KiB.
  func read(body: [UInt8], of head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, from origin: OriginAuthority)
    -> Reading
  { .other }

  /// The same, with what `note` has kept of the request. A signer overrides one of both.
  func read(
    body: [UInt8], of head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, noted: AnyObject?,
    from origin: OriginAuthority
  ) -> Reading { read(body: body, of: head, in: bytes, from: origin) }

  /// What the answer's Date tells of the origin's clock.
  final func clock(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) -> ClockReading? {
    let (now, wall) = (csys_monotonic(), csys_wall_clock())
    func seconds(_ time: Int64) -> Int64 { (wall - (now - time)) / 1_000_000_000 }
    let answered = times.answered == 0 ? now : times.answered
    return AnswerDate.reading(
      status: head.status, fields: head.fields, in: bytes, sent: seconds(times.sent == 0 ? answered : times.sent),
      received: seconds(answered))
  }

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
  var isSigned: Bool {
    switch kind {
    case .basic, .bearer, .header: false
    case .oauth2(let oauth2): oauth2.dpop != nil
    case .sigv4, .jwt, .hmac, .httpSignature, .digest, .negotiate, .query, .path: true
    }
  }

  /// Its connections are authenticated as the proxy: no other entry may get them.
  var authenticatesConnections: Bool { if case .negotiate = kind { true } else { false } }

  /// A new one for a loop; nil: the credential is a fixed field.
  func signer(on loop: EventLoop) -> RequestSigner? {
    switch kind {
    case .basic, .bearer, .header: nil
    case .oauth2(let oauth2): oauth2.dpop == nil ? nil : DPoPSigner()
    case .sigv4(let policy): SigV4Signer(policy)
    case .jwt: JWTSigner()
    case .hmac(let policy): HMACSigner(policy)
    case .httpSignature(let policy): HTTPSignatureSigner(policy)
    case .digest: DigestSigner()
    case .negotiate: NegotiateSigner(on: loop)
    case .query, .path: TargetSigner()
    }
  }
}
