import EventIO
import HTTPWire
import WayOut

/// A connection over which a parent takes requests for an http origin in absolute-form (RFC 9112 section 3.2.2). Confined to its loop.
public final class AbsoluteForm {
  public let parent: Parent
  /// `http://host[:port]`, before the target's path.
  public let base: [UInt8]
  private let login: ParentLogin?
  /// `Proxy-Authorization: ...` with CRLF, if each request carries the same; empty: none.
  private let loginLine: [UInt8]
  private let trial: LoginTrial?
  private var isUntried = true
  /// The parent has served a request that did not present the credential.
  private var isUnasked = false
  private unowned let upstreams: Upstreams
  /// This connection alone tries a parent that is down.
  var claim: WayHealth.Claim?
  /// When the health memory was told last that the parent works, in nanoseconds of the loop's clock.
  private var noted: Int64 = 0

  /// The health memory took its parent for down, for what came of this connection.
  public private(set) var isBroken = false

  /// Nanoseconds between two notes of one connection that the parent works.
  private static let noteInterval: Int64 = 10_000_000_000

  init(
    _ parent: Parent, host: String, port: UInt16, _ login: ParentLogin?, _ trial: LoginTrial?, on upstreams: Upstreams
  ) {
    self.parent = parent
    self.upstreams = upstreams
    base = Self.base(host: host, port: port)
    self.login = login
    loginLine = if let login, login.authentication == nil { ParentLogin.line(login.value) } else { [] }
    self.trial = trial
  }

  static func base(host: String, port: UInt16) -> [UInt8] {
    Array("http://\(Authority.text(host: host, port: port, defaultPort: 80))".utf8)
  }

  deinit {
    guard let claim else { return }
    upstreams.shared.health.withLock { $0.gaveUp(parent.hop, claim: claim) }
  }

  /// Makes a head as the parent wants it out of one that was written for the origin.
  /// - Parameters:
  ///   - block: the head in origin-form, without the blank line; it has room for what is `added`.
  ///   - hasBody: a body follows.
  /// - Returns: why the request cannot be sent; nil: it can.
  public func rewrite(_ block: Block, hasBody: Bool) -> UpstreamError? {
    let head = block.bytes
    guard let space = head.firstIndex(of: UInt8(ascii: " ")), space + 1 < head.count else { return nil }
    // OPTIONS of the whole origin has no path there (RFC 9112 section 3.2.4).
    let rest = space + (head[space + 1] == UInt8(ascii: "*") ? 2 : 1)
    let (from, to) = (block.base + block.start + rest, block.base + block.start + space + 1 + base.count)
    to.copyMemory(from: from, byteCount: head.count - rest)
    base.withUnsafeBytes { bytes in
      if let start = bytes.baseAddress { (to - bytes.count).copyMemory(from: start, byteCount: bytes.count) }
    }
    block.end += space + 1 + base.count - rest
    block.append(loginLine)
    guard let login, login.authentication != nil else { return nil }
    return answer(login, in: block, method: space, hasBody: hasBody)
  }

  /// - Parameter method: its length.
  private func answer(_ login: ParentLogin, in block: Block, method: Int, hasBody: Bool) -> UpstreamError? {
    let head = block.bytes
    let rest = UnsafeRawBufferPointer(rebasing: head[(method + 1)...])
    let target = rest.prefix { $0 != UInt8(ascii: " ") }
    do throws(ParentFailure.Reason) {
      block.append(try login.line(method: Array(head[..<method]), target: Array(target), hasBody: hasBody))
      return nil
    } catch {
      return failure(error)
    }
  }

  private func failure(_ reason: ParentFailure.Reason, status: Int? = nil) -> UpstreamError {
    .parent(ParentFailure(parent: parent.name, credential: parent.credential?.name, reason: reason, status: status))
  }

  /// Most bytes that this adds to a head.
  /// - Parameter head: its bytes.
  public func added(to head: Int) -> Int {
    guard let authentication = login?.authentication else { return base.count + loginLine.count }
    return base.count + 32 + authentication.sizeLimit(target: base.count + head)
  }

  /// A request may be answered by a challenge, after which it is sent again.
  public var challenges: Bool { login?.authentication != nil }

  /// What a final answer says.
  public enum Reading {
    /// It is relayed.
    case answer
    /// The request is sent again.
    case challenge(ParentReading.Next)
    case refused(UpstreamError)
    /// It is not relayed, as the parent does not prove what it should.
    case invalid(UpstreamError)
  }

  /// Reads the head of a final answer.
  /// - Parameter now: nanoseconds of the loop's clock.
  @inline(__always)
  public func read(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, now: Int64) -> Reading {
    if head.status != 407, login?.authentication == nil {
      accepted(now: now)
      return .answer
    }
    return readClosely(head, in: bytes, now: now)
  }

  @inline(never)
  private func readClosely(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, now: Int64) -> Reading {
    let reading = login?.authentication?.read(head, in: bytes) ?? .other
    if case .invalid(let why) = reading { return .invalid(failure(.badAnswer(why), status: head.status)) }
    guard head.status == 407 else {
      if login?.isPresented ?? true { accepted(now: now) } else { answeredUnasked(now) }
      return .answer
    }
    switch reading {
    case .challenge(let next):
      noteWorks(now)
      return .challenge(next)
    case .refused(let pause): return .refused(refused(asked: head.proxySchemes(in: bytes), pause: pause, now: now))
    case .other, .invalid: return .refused(refused(asked: head.proxySchemes(in: bytes), now: now))
    }
  }

  /// The parent has answered 407: the credential is not sent again, unless its source has another.
  private func refused(asked: String, pause: Int64? = nil, now: Int64) -> UpstreamError {
    noteWorks(now)
    trial?.refused(asked: asked, of: base, pause: pause, now: now)
    return failure(.loginRefused(asked: asked, isFinal: pause == nil), status: 407)
  }

  /// It challenged a request whose body is gone, or challenges again and again.
  public func challengedInVain(_ why: String) -> UpstreamError { failure(.badAnswer(why), status: 407) }

  /// Whether its credential may be presented again: the parent has not refused it on another connection.
  func mayPresent(now: Int64) -> Bool { trial?.mayPresent(for: base, isUnasked: isUnasked, now: now) ?? true }

  /// The parent has accepted its credential on this connection.
  public var isProven: Bool { !isUntried }

  /// The parent has answered something else than 407.
  /// - Parameter now: nanoseconds of the loop's clock.
  @inline(__always)
  private func accepted(now: Int64) {
    if isUntried || now - noted >= Self.noteInterval { noteAccepted(now) }
  }

  /// The parent wanted nothing of this request.
  private func answeredUnasked(_ now: Int64) {
    if now - noted >= Self.noteInterval { noteWorks(now) }
    isUnasked = true
    if isUntried { trial?.leave() }
  }

  private func noteAccepted(_ now: Int64) {
    noteWorks(now)
    guard isUntried else { return }
    isUntried = false
    trial?.accepted()
  }

  private func noteWorks(_ now: Int64) {
    noted = now
    claim = nil
    let changes = upstreams.shared.health.withLock { health in
      health.worked(parent.hop, now: now)
      return health.takeChanges()
    }
    upstreams.report(changes)
  }

  /// A request that had time for an answer got not a byte of one. A parent that has served others a moment ago waits for an origin that
  /// does not answer; otherwise it is down.
  /// - Parameter now: nanoseconds of the loop's clock.
  @discardableResult
  public func gaveNoAnswer(now: Int64) -> UpstreamError {
    noteBroken(now, unlessWorkedLately: true)
    return failure(.unreached(.responseTimeout))
  }

  /// The connection has ended before the head of an answer was complete.
  /// - Parameter isMute: not a byte of one has come, as nobody but a parent that is broken does.
  func ended(isMute: Bool, now: Int64) -> UpstreamError {
    if isMute { noteBroken(now, unlessWorkedLately: false) }
    return endedEarly
  }

  public var endedEarly: UpstreamError { failure(.badAnswer("it closed the connection before its answer was complete")) }

  private func noteBroken(_ now: Int64, unlessWorkedLately: Bool) {
    if isUntried, login?.isPresented ?? false { trial?.unanswered(now: now) }
    let (claim, random) = (claim, UInt64.random(in: 0...UInt64.max))
    self.claim = nil
    let changes = upstreams.shared.health.withLock { health in
      if !unlessWorkedLately || !health.hasWorkedLately(parent.hop, now: now) {
        health.broke(parent.hop, claim: claim, now: now, random: random)
        isBroken = true
      }
      return health.takeChanges()
    }
    upstreams.report(changes)
  }

  /// Whether the source of its credential has another than the one that was refused.
  /// - Parameter deliver: called once, on the loop, possibly before this returns; not after `cancel` of the result.
  func renew(deliver: @escaping (_ hasAnother: Bool) -> Void) -> (any ParentWait)? {
    guard let credential = parent.credential, let login else {
      deliver(false)
      return nil
    }
    return credential.refused(login.version, isSure: false, on: upstreams.loop, deliver: deliver)
  }
}
