import EventIO
import HTTPWire
import Streams
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
  /// The origin, as it is remembered what came of asking the parent for it.
  private let witness: WayHealth.Witness
  private var isUntried = true
  /// The credential was presented, and no answer has come.
  private var owesVerdict = false
  /// The parent has served a request that did not present the credential.
  private var isUnasked = false
  private unowned let upstreams: Upstreams
  /// This connection alone tries a parent that is down.
  var claim: WayHealth.Claim?
  private var watch: ClaimWatch?
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
    witness = WayHealth.Witness(host: host, port: port)
    self.login = login
    loginLine = if let login, login.authentication == nil { ParentLogin.line(login.value) } else { [] }
    self.trial = trial
  }

  static func base(host: String, port: UInt16) -> [UInt8] {
    Array("http://\(Authority.text(host: host, port: port, defaultPort: 80))".utf8)
  }

  deinit {
    giveBack()
  }

  /// It alone tries a parent that is down, and nothing has come of it yet.
  public var isTrial: Bool { claim != nil }

  /// Keeps the single try for itself as long as the request is with the parent, which may be longer than its share of `connect`.
  public func keepSingle(while isWithParent: @escaping () -> Bool) {
    watch?.stop(on: upstreams.loop)
    watch = ClaimWatch(on: upstreams.loop) { [unowned self] in look(isWithParent()) }
  }

  private func look(_ isWithParent: Bool) {
    guard isWithParent else { return giveBack() }
    guard let claim else { return }
    let until = upstreams.loop.now + ClaimWatch.lease
    upstreams.shared.health.withLock { _ = $0.renew(parent.hop, claim: claim, until: until) }
  }

  private func giveBack() {
    guard let claim = endTry() else { return }
    upstreams.shared.health.withLock { $0.gaveUp(parent.hop, claim: claim) }
  }

  /// - Returns: its claim, if it alone tried the parent.
  private func endTry() -> WayHealth.Claim? {
    guard let claim else { return nil }
    self.claim = nil
    watch?.stop(on: upstreams.loop)
    watch = nil
    return claim
  }

  /// Makes a head as the parent wants it out of one that was written for the origin.
  /// - Parameters:
  ///   - block: the head in origin-form, without the blank line; it has room for what is `added`.
  ///   - hasBody: a body follows.
  /// - Returns: why the request cannot be sent; nil: it can.
  public func rewrite(_ block: Block, hasBody: Bool) -> UpstreamError? {
    Self.dropAppsCredential(from: block)
    let head = block.bytes
    guard let space = head.firstIndex(of: UInt8(ascii: " ")), space + 1 < head.count else { return nil }
    guard login == nil || !Self.isTrace(head, method: space) else {
      // Nothing will be presented, so nobody need wait for what comes of it.
      if isUntried { trial?.leave() }
      return failure(.traceWithLogin)
    }
    // OPTIONS of the whole origin has no path there (RFC 9112 section 3.2.4).
    let rest = space + (head[space + 1] == UInt8(ascii: "*") ? 2 : 1)
    let (from, to) = (block.base + block.start + rest, block.base + block.start + space + 1 + base.count)
    to.copyMemory(from: from, byteCount: head.count - rest)
    base.withUnsafeBytes { bytes in
      if let start = bytes.baseAddress { (to - bytes.count).copyMemory(from: start, byteCount: bytes.count) }
    }
    block.end += space + 1 + base.count - rest
    block.append(loginLine)
    owesVerdict = isUntried
    guard let login, login.authentication != nil else { return nil }
    return answer(login, in: block, method: space, hasBody: hasBody)
  }

  /// `Proxy_Authorization`, which a parent may take for what is the app's own, or for another answer beside this proxy's. The field itself is
  /// never in a head for an origin.
  private static func dropAppsCredential(from block: Block) {
    let name = proxyAuthorization
    var line = 0
    while let end = block.bytes[line...].firstIndex(of: UInt8(ascii: "\n")) {
      let head = block.bytes
      let next = end + 1
      if next - line > name.count, head[line + name.count] == UInt8(ascii: ":"),
        fieldNameEquals(UnsafeRawBufferPointer(rebasing: head[line..<(line + name.count)]), name)
      {
        let start = block.base + block.start
        (start + line).copyMemory(from: start + next, byteCount: head.count - next)
        block.end -= next - line
      } else {
        line = next
      }
    }
  }

  private static let proxyAuthorization = Array("proxy-authorization".utf8)

  /// Its recipient sends the head back, and the recipient may be the parent itself (Max-Forwards).
  /// - Parameter method: its length.
  private static func isTrace(_ head: UnsafeRawBufferPointer, method: Int) -> Bool {
    method == 5 && equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: head[..<method]), "TRACE")
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
  /// - Parameters:
  ///   - hasMetOtherRules: see `ParentReading.once`.
  ///   - now: nanoseconds of the loop's clock.
  @inline(__always)
  public func read(
    _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, hasMetOtherRules: Bool, now: Int64
  ) -> Reading {
    owesVerdict = false
    if head.status != 407, login?.authentication == nil {
      answered(head.status, now: now)
      return .answer
    }
    return readClosely(head, in: bytes, hasMetOtherRules, now: now)
  }

  @inline(never)
  private func readClosely(
    _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, _ hasMetOtherRules: Bool, now: Int64
  ) -> Reading {
    let reading = login?.authentication?.read(head, in: bytes).once(hasMetOtherRules) ?? .other
    if case .invalid(let why) = reading {
      // What does not prove that it is the parent's answer is none.
      if isUntried { trial?.unanswered(now: now) }
      return .invalid(failure(.badAnswer(why), status: head.status))
    }
    guard head.status == 407 else {
      if login?.isPresented ?? true { answered(head.status, now: now) } else { answeredUnasked(now) }
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
    trial?.refused(asked: asked, pause: pause, now: now)
    return failure(.loginRefused(asked: asked, isFinal: pause == nil), status: 407)
  }

  /// It challenged a request whose body is gone, or challenges again and again.
  public func challengedInVain(_ why: String) -> UpstreamError { failure(.badAnswer(why), status: 407) }

  /// Whether its credential may be presented again: the parent has not refused it on another connection.
  func mayPresent(now: Int64) -> Bool { trial?.mayPresent(isUnasked: isUnasked, now: now) ?? true }

  /// The parent has accepted its credential on this connection.
  public var isProven: Bool { !isUntried }

  /// The parent has answered something else than 407.
  /// - Parameter now: nanoseconds of the loop's clock.
  @inline(__always)
  private func answered(_ status: Int, now: Int64) {
    if isUntried || now - noted >= Self.noteInterval { noteAnswered(status, now) }
  }

  private func noteAnswered(_ status: Int, _ now: Int64) {
    noteWorks(now)
    guard isUntried else { return }
    guard Self.showsAcceptance(status) else { return trial?.leave() ?? () }
    isUntried = false
    trial?.accepted(now: now)
    if let refuser = trial?.refuser { parent.credential?.accepted(by: refuser, on: upstreams.loop) }
  }

  /// Parents answer the others before they judge the credential, or whatever it is.
  private static func showsAcceptance(_ status: Int) -> Bool { status < 500 && status != 400 && status != 403 && status != 407 }

  /// The parent wanted nothing of this request.
  private func answeredUnasked(_ now: Int64) {
    if now - noted >= Self.noteInterval { noteWorks(now) }
    isUnasked = true
    if isUntried { trial?.leave() }
  }

  private func noteWorks(_ now: Int64) {
    noted = now
    _ = endTry()
    let changes = upstreams.shared.health.withLock { health in
      health.worked(parent.hop, for: witness, now: now)
      return health.takeChanges()
    }
    upstreams.report(changes)
  }

  /// A request that had time for an answer got not a byte of one. A parent that has served others a moment ago waits for an origin that
  /// does not answer; otherwise it is down.
  /// - Parameter now: nanoseconds of the loop's clock.
  @discardableResult
  public func gaveNoAnswer(now: Int64) -> UpstreamError {
    let error = failure(.unreached(.responseTimeout))
    noteBroken(.silent, error, now)
    return error
  }

  /// The connection has ended, and not a byte of an answer has come, as nobody but a parent that is broken does.
  /// - Parameter wasAsked: of the request something was sent. Then a parent that served others a moment ago is down for this origin alone,
  ///   which may have made it do so, until it does the same for another one.
  @discardableResult
  public func endedMute(wasAsked: Bool, now: Int64) -> UpstreamError {
    noteBroken(wasAsked ? .closed : .closedUnasked, endedEarly, now)
    return endedEarly
  }

  public var endedEarly: UpstreamError { failure(.badAnswer("it closed the connection before its answer was complete")) }

  private enum Break { case silent, closed, closedUnasked }

  private func noteBroken(_ kind: Break, _ error: UpstreamError, _ now: Int64) {
    let (claim, random) = (endTry(), UInt64.random(in: 0...UInt64.max))
    let changes = upstreams.shared.health.withLock { health in
      // It was down for this origin alone, and still is.
      let isOfOne = claim?.isOfAll == false
      let works = health.hasWorkedLately(parent.hop, now: now)
      if kind == .silent, works, !isOfOne { return [WayHealth.Change]() }
      let isOwn = kind != .closedUnasked && (works || isOfOne)
      health.broke(parent.hop, claim: claim, by: isOwn ? witness : nil, now: now, random: random)
      isBroken = true
      return health.takeChanges()
    }
    upstreams.report(changes, error)
  }

  /// Whether the source of its credential has another than the one that was refused.
  /// - Parameter deliver: called once, on the loop, possibly before this returns; not after `cancel` of the result.
  func renew(deliver: @escaping (_ hasAnother: Bool) -> Void) -> (any ParentWait)? {
    guard let credential = parent.credential, let login else {
      deliver(false)
      return nil
    }
    return credential.refused(login.version, by: trial?.refuser ?? .request(0), on: upstreams.loop, deliver: deliver)
  }
}

// MARK: When its connection closes

extension AbsoluteForm {
  /// Its connection is to be closed. Not nil: the answer that has not come says whether the credential is right, and nobody else knows.
  /// - Parameters:
  ///   - stream: from then on the result's own.
  ///   - received: what has come of the answer.
  func lateAnswer(_ stream: ByteStream, _ received: [UInt8]) -> LateAnswer? {
    guard owesVerdict, let login, let trial, trial.isOpen, login.isPresented, stream.bytesWritten > 0 else { return nil }
    owesVerdict = false
    return LateAnswer(stream, received, trial, of: parent, version: login.version, on: upstreams) { [self] in verdict($0) }
  }

  private func verdict(_ received: [UInt8]) -> LateAnswer.Verdict {
    var head = ResponseHead()
    return received.withUnsafeBytes { bytes in
      var rest = bytes
      while true {
        switch head.parse(rest, limit: rest.count + 1) {
        case .incomplete: return .incomplete
        case .invalid: return .unreadable
        case .complete:
          guard head.isInterim else { return verdict(head, in: rest) }
          rest = UnsafeRawBufferPointer(rebasing: rest[head.length...])
          head.reset()
        }
      }
    }
  }

  private func verdict(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) -> LateAnswer.Verdict {
    let reading = login?.authentication?.read(head, in: bytes) ?? .other
    if case .invalid = reading { return .unreadable }
    guard head.status == 407 else { return Self.showsAcceptance(head.status) ? .accepted : .none }
    switch reading {
    // Another connection begins anew.
    case .challenge, .invalid: return .none
    case .refused(let pause): return .refused(asked: head.proxySchemes(in: bytes), pause: pause)
    case .other: return .refused(asked: head.proxySchemes(in: bytes), pause: nil)
    }
  }
}
