import Credentials
import Crypto
import EventIO
import Forwarding
import HTTPWire
import Signing

/// Signs each attempt for AWS (Signature Version 4), by the clock of the origin where it is known to differ from ours.
final class SigV4Signer: RequestSigner {
  /// The app's own signature, and what later calls have found out.
  private final class Noted {
    var app: AppSignature?
    /// What it is signed for, and by which rules.
    var scope: (found: SigningScope, rules: Int)?
    /// The origin is not on TLS: what the app said nothing about is hashed.
    var isClear = false
    /// Seconds that were added to our clock in the last attempt.
    var clockOffset: Int64 = 0
  }

  /// What is made of one version of the keys.
  private final class Material {
    let version: UInt64
    let accessKeyID: [UInt8]
    let token: [UInt8]?
    var keys: SigningKeys

    init(_ keys: AWSKeys, version: UInt64) {
      self.version = version
      accessKeyID = Array(keys.accessKeyID.utf8)
      token = keys.sessionToken?.bytes
      self.keys = SigningKeys(secret: keys.secretAccessKey.bytes)
    }
  }

  /// How a request is signed, as far as its head tells.
  private struct Plan {
    let scope: SigningScope
    let payload: SigV4Payload
    let fields: AWSFields
  }

  /// A clock that differs by more is taken for wrong; AWS tolerates 5 to 15 minutes.
  private static let tolerance: Int64 = 240
  /// Beside names of signed fields and the scope: names, separators, date, hash and signature.
  private static let lineSize = 1_024

  private var rules: ScopeRules
  /// Counts them.
  private var rulesNumber = 0
  private var policy: SigV4Policy
  private var material: Material?
  private var clocks = OriginClocks<OriginAuthority>(tolerance: tolerance)
  /// Of the last request: most others have the same.
  private var time = SigningTime(0)

  init(_ policy: SigV4Policy) {
    self.policy = policy
    rules = ScopeRules(policy)
  }

  override func adopt(_ policy: CredentialPolicy) {
    guard case .sigv4(let policy) = policy.kind else { return }
    self.policy = policy
    rules = ScopeRules(policy)
    rulesNumber += 1
  }

  // MARK: Before the attempt

  override func note(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnyObject? {
    let noted = Noted()
    for field in head.fields where field.id == .authorization {
      if let found = AppSignature(authorization: field.value.bytes(in: bytes)) { noted.app = found }
    }
    if noted.app == nil { noted.app = AppSignature(presigned: head.target.bytes(in: bytes)) }
    return noted
  }

  override func refusal(
    of head: WrittenHead, length: Int64?, noted: AnyObject?, isTLS: Bool, by credential: String
  ) -> (error: ProxyError, why: String)? {
    do throws(ProxyError) {
      _ = try plan(head, noted as? Noted, isTLS: isTLS, hasBody: length != 0, length: length, of: credential)
      return nil
    } catch { return (error, Self.reason(error)) }
  }

  override func bodyUse(of head: WrittenHead, length: Int64?, noted: AnyObject?) -> BodyUse {
    let noted = noted as? Noted
    // What is refused is refused before a byte of the body counts.
    guard let plan = try? plan(head, noted, isTLS: noted?.isClear != true, hasBody: true, length: length, of: "") else {
      return .streams
    }
    return plan.payload == .hashed ? .hashed(.sha256) : .streams
  }

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?) -> Int { head.count + Self.lineSize }

  private func plan(
    _ head: WrittenHead, _ noted: Noted?, isTLS: Bool, hasBody: Bool, length: Int64?, of credential: String
  ) throws(ProxyError) -> Plan {
    if noted?.app?.algorithm == .other { throw .signing(.unsupported("the app's signature is not AWS4-HMAC-SHA256")) }
    let scope = try scope(head, noted, of: credential)
    let fields = AWSFields(head.fields, in: head.bytes)
    if fields.isRepeated { throw .signing(.body(.malformed("X-Amz-Content-Sha256 is there twice"))) }
    if fields.isAmbiguous { throw .signing(.body(.malformed("a field that AWS reads is written with '_'"))) }
    // A POST policy signs a form, inside of it.
    if hasBody, fields.payload == nil, PathForm(of: scope.service) == .asWritten, head.method.equals("POST", in: head.bytes),
      let type = fields.contentType, type.hasMediaType("multipart/form-data", in: head.bytes)
    {
      throw .signing(.unsupported("forms with a POST policy are signed by who makes them"))
    }
    do throws(SigV4Payload.Problem) {
      let payload = try SigV4Payload(
        DeclaredPayload(fields.payload?.value.bytes(in: head.bytes)), policy.payload, service: scope.service, isTLS: isTLS,
        hasBody: hasBody, length: length)
      return Plan(scope: scope, payload: payload, fields: fields)
    } catch {
      switch error {
      case .notSupported: throw .signing(.unsupported("X-Amz-Content-Sha256 has a form that the proxy does not sign"))
      case .unsignedStream: throw .signing(.unsupported("the body is an unsigned stream, and `payload` is signed"))
      }
    }
  }

  private func scope(_ head: WrittenHead, _ noted: Noted?, of credential: String) throws(ProxyError) -> SigningScope {
    if let known = noted?.scope, known.rules == rulesNumber { return known.found }
    do throws(ScopeRules.Problem) {
      let found = try rules.scope(app: noted?.app?.scope, host: head.host.bytes(in: head.bytes))
      noted?.scope = (found, rulesNumber)
      return found
    } catch { throw .signing(Self.problem(error, of: credential)) }
  }

  private static func problem(_ problem: ScopeRules.Problem, of credential: String) -> SigningProblem {
    func text(_ name: [UInt8]) -> String { String(decoding: name, as: UTF8.self) }
    return switch problem {
    case .unknownService:
      .configuration(credential: credential, "neither `service`, nor the app's signature, nor the host names the service")
    case .unknownRegion:
      .configuration(
        credential: credential, "neither `region`, nor the app's signature, nor the host, nor AWS_REGION names the region")
    case .serviceNotListed(let name): .forbidden("service \(text(name)) is not in `service`")
    case .regionNotListed(let name): .forbidden("region \(text(name)) is not in `region`")
    case .serviceNotNamed(let name): .forbidden("service \(text(name)) gives or takes keys, and `service` does not name it")
    }
  }

  // MARK: The attempt

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    let (head, origin, name) = (draft.head, draft.origin, draft.credential.name)
    let noted = draft.noted as? Noted
    do throws(ProxyError) {
      guard take(draft.credential) else { return .refused(.internalError, why: "it has no AWS keys") }
      let plan: Plan
      var body: UnsafeRawBufferPointer?
      switch draft.body {
      case .none:
        plan = try self.plan(head, noted, isTLS: origin.isTLS, hasBody: false, length: 0, of: name)
        if case .signedStream = plan.payload { throw .signing(.body(.malformed("there is no chunk"))) }
      case .streamed(let length):
        plan = try self.plan(head, noted, isTLS: origin.isTLS, hasBody: true, length: length, of: name)
        if plan.payload == .hashed {
          noted?.isClear = !origin.isTLS
          return .needsBody
        }
      case .whole(let bytes):
        // It was read because its hash is wanted, and the length says no more than that.
        plan = try self.plan(head, noted, isTLS: origin.isTLS, hasBody: !bytes.isEmpty, length: nil, of: name)
        body = bytes
      }
      let offset = clocks.offset(of: origin)
      noted?.clockOffset = offset
      return try write(
        plan, head, body, digest: plan.payload == .hashed ? draft.digest : nil, at: wallClockSeconds() + offset, into: block)
    } catch { return .refused(error, why: Self.reason(error)) }
  }

  private static func reason(_ error: ProxyError) -> String {
    guard case .signing(let problem) = error else { return "no signature" }
    return switch problem {
    case .unsupported(let why), .forbidden(let why), .configuration(_, let why), .peer(let why): why
    case .body(.malformed(let why)), .body(.tooLarge(let why)): why
    case .bodyTooLarge, .noMemoryForBody: "no room for the body"
    }
  }

  /// Makes what depends on the keys, if they are others.
  private func take(_ credential: AttachedCredential) -> Bool {
    guard case .awsKeys(let keys)? = credential.material else { return false }
    if material?.version == credential.version { return true }
    material = Material(keys, version: credential.version)
    return true
  }

  private func write(
    _ plan: Plan, _ head: WrittenHead, _ body: UnsafeRawBufferPointer?, digest: [UInt8]?, at seconds: Int64,
    into block: Block
  ) throws(ProxyError) -> Preparation {
    guard let material else { throw .internalError }
    if time.seconds != seconds { time = SigningTime(seconds) }
    let line =
      digest.map { SigV4Payload.line(of: $0) } ?? plan.payload.line(body: body ?? UnsafeRawBufferPointer(start: nil, count: 0))
    let declared = plan.fields.payload
    let isReplaced = declared.map { !$0.value.bytes(in: head.bytes).elementsEqual(line) } ?? false
    let writesPayload = isReplaced || (declared == nil && PathForm(of: plan.scope.service) == .asWritten)
    var fields = [UInt8]()
    if isReplaced, let declared {
      fields = Array(head.fields.bytes(in: head.bytes))
      let start = declared.whole.start - head.fields.start
      fields.removeSubrange(start..<(start + declared.whole.count))
      block.remove(declared.whole)
    }
    let signature = fields.withUnsafeBytes { rest in
      SigV4Signature(
        of: SigV4Request(
          method: head.method.bytes(in: head.bytes), target: head.target.bytes(in: head.bytes),
          host: head.host.bytes(in: head.bytes), fields: isReplaced ? rest : head.fields.bytes(in: head.bytes)),
        for: plan.scope, at: time, token: material.token, payload: line, writesPayload: writesPayload)
    }
    let key: SigningKey
    let code: [UInt8]
    do throws(OpenSSLError) {
      key = try material.keys.key(for: plan.scope, at: time)
      code = try signature.signature(by: key)
    } catch { return .refused(.internalError, why: error.message) }
    let authorization = signature.authorizationLine(accessKeyID: material.accessKeyID, signature: code)
    let transform = try transform(plan, head, key, seed: code)
    guard authorization.count + 256 <= block.room else { return .refused(.internalError, why: "the head is too large") }
    block.append("X-Amz-Date: ")
    block.append(time.text)
    block.append("\r\n")
    if writesPayload {
      block.append("X-Amz-Content-Sha256: ")
      block.append(line)
      block.append("\r\n")
    }
    block.append(authorization)
    payload = SignedPayload(plan.payload)
    return transform.map { .transforms($0) } ?? .ready
  }

  /// What signs the chunks of the body; nil: nothing does.
  private func transform(
    _ plan: Plan, _ head: WrittenHead, _ key: SigningKey, seed: [UInt8]
  ) throws(ProxyError) -> ChunkSignatures? {
    guard case .signedStream(let hasTrailer) = plan.payload else { return nil }
    let announced: Int64?
    do throws(BodyTransformError) { announced = try plan.fields.announcedLength(in: head.bytes) } catch {
      throw .signing(.body(error))
    }
    return ChunkSignatures(
      key: key, scope: plan.scope, time: time, seed: seed, announced: announced,
      trailers: hasTrailer ? plan.fields.trailerNames(in: head.bytes) : nil)
  }

  // MARK: The answer

  override func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, of noted: AnyObject?, from origin: OriginAuthority,
    isNews: Bool
  ) -> Reading {
    guard isNews, Self.mayConcernKeys(head.status) else { return .other }
    if let error = AWSError(head, in: bytes) { return reading(of: error, head, bytes, noted, origin) }
    return .needsBody
  }

  override func read(
    body: [UInt8], of head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, noted: AnyObject?,
    from origin: OriginAuthority
  ) -> Reading { reading(of: AWSError(body: body), head, bytes, noted, origin) }

  private static func mayConcernKeys(_ status: Int) -> Bool { status == 400 || status == 401 || status == 403 }

  private func reading(
    of error: AWSError, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ noted: AnyObject?,
    _ origin: OriginAuthority
  ) -> Reading {
    if error == .accessDenied { return .other }
    if let clock = clock(head, in: bytes), let noted = noted as? Noted,
      clocks.correct(clock, from: origin, used: noted.clockOffset)
    {
      skew = clock.offset
      return .challenge(canAnswer: true)
    }
    return error == .keysRefused ? .refused : .other
  }
}

extension SignedPayload {
  init(_ payload: SigV4Payload) {
    self =
      switch payload {
      case .none: .none
      case .hashed: .hashed
      case .declared: .declared
      case .unsigned, .unsignedStream: .unsigned
      case .signedStream: .streaming
      }
  }
}
