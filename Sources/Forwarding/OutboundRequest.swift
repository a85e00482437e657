import HTTPWire

/// A request's head as it goes to the origin, but for the credential and the blank line: decided over the parsed head, then written.
/// What it says of the app is needed once more when the answer's head is written.
public struct OutboundRequest: Sendable {
  public let method: Method
  let minorVersion: UInt8
  /// How its body goes on, which is how it comes. To be set before `decide`.
  public var framing = BodyFraming.none
  /// The entry's credential goes with it. False where there is none, or the app's own field was kept.
  public private(set) var sendsCredential = false
  /// It asks for WebSocket.
  public private(set) var isUpgrade = false
  /// The app speaks NTLM or Negotiate with the origin.
  public private(set) var authenticatesConnection = false
  /// The app asked for gzip itself; looked at only where the entry decompresses.
  private(set) var acceptsGzip = false
  private var asksForGzip = false
  private var takesTrailers = false
  /// -1: none.
  private var maxForwards = -1

  /// The app speaks HTTP/1.1 or later.
  public var isHTTP11: Bool { minorVersion >= 1 }

  /// Of no head: what is told to an app whose head cannot be read.
  public init() {
    method = .get
    minorVersion = 1
  }

  public init(_ head: borrowing RequestHead) {
    method = head.method
    minorVersion = head.minorVersion
  }

  /// Marks what of the head does not go on (RFC 9110 section 7.6).
  /// - Throws: `credentialFromApp`.
  public mutating func decide(
    _ head: inout RequestHead, in bytes: UnsafeRawBufferPointer, rules: ForwardingRules
  ) throws(ForwardingError) {
    if rules.hasCredential {
      sendsCredential = true
      switch rules.appCredential {
      case .replace: break
      case .keep: sendsCredential = !head.fields.has(rules.credentialField, in: bytes)
      case .reject: if head.fields.has(rules.credentialField, in: bytes) { throw .credentialFromApp }
      }
    }
    let hasBody = framing != .none && framing != .length(0)
    isUpgrade = !hasBody && head.upgradeToken(in: bytes)?.equalsIgnoringCase(webSocket, in: bytes) == true
    takesTrailers = head.acceptsTrailers(in: bytes)
    acceptsGzip = rules.decompresses && head.fields.hasMember("gzip", in: .acceptEncoding, of: bytes)
    head.markHopByHop(in: bytes, keepUpgrade: isUpgrade)
    head.fields.drop(.host)
    if takesTrailers { head.fields.drop(.te) }
    // Each attempt decides for itself whether it asks.
    if head.contains(.expect) { head.fields.drop(.expect) }
    if head.countsForwards, let count = head.maxForwards(in: bytes) {
      maxForwards = max(count - 1, 0)
      head.fields.drop(.maxForwards)
    }
    asksForGzip = rules.decompresses && !acceptsGzip && mayBeCoded(head, in: bytes)
    if asksForGzip { head.fields.drop(.acceptEncoding) }
    // The credential goes in last: after Connection was obeyed, and after every field of its name was removed.
    if sendsCredential { head.fields.drop(named: rules.credentialField, in: bytes) }
    authenticatesConnection = head.authenticatesConnection(in: bytes)
  }

  /// Bytes that `write` takes at most, `decide` having marked the head.
  public func sizeLimit(
    of head: borrowing RequestHead, _ target: RequestTarget, to origin: OriginAuthority, rules: ForwardingRules
  ) -> Int {
    // What came, as it will be written (each line may grow by a blank), and at most 152 bytes of lines of our own.
    head.methodText.count + target.pathAndQuery.count + head.fields.keptSize
      + max(origin.hostLine.count, target.authority.count + 8) + rules.name.viaLine.count + 256
  }

  /// Generates the head anew: nothing is copied as it came but names, values and the target's path.
  public func write(
    _ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer, _ target: RequestTarget, to origin: OriginAuthority,
    rules: ForwardingRules, into writer: inout ByteWriter
  ) {
    writer.append(head.methodText, of: bytes)
    writer.append(" ")
    writer.append(originFormOf: target, method: method, in: bytes)
    writer.append(" HTTP/1.1\r\n")
    if rules.keepsHost, target.form == .absolute {
      writer.appendField("Host", target.authority.bytes(in: bytes))
    } else {
      writer.append(origin.hostLine)
    }
    writer.append(fieldsOf: head.fields, in: bytes)
    if maxForwards >= 0 { writer.appendField("Max-Forwards", decimal: Int64(maxForwards)) }
    if asksForGzip { writer.appendField("Accept-Encoding", "gzip") }
    writer.append(viaOf: rules.name, minorVersion: minorVersion)
    if takesTrailers { writer.append("TE: trailers\r\n") }
    if isUpgrade {
      writer.appendField("Connection", takesTrailers ? "upgrade, TE" : "upgrade")
    } else {
      // RFC 9110 section 10.1.4: TE holds for this hop only, and says so.
      if takesTrailers { writer.appendField("Connection", "TE") }
      writer.append(framing: framing)
    }
  }
}

/// The one protocol that is changed to. Others would carry requests past the proxy's rules: `h2c` above all.
let webSocket: StaticString = "websocket"

extension RequestHead {
  /// What is looked at before a request has an entry.
  /// - Throws: `loop`, `unknownExpectation`.
  public func checkForwarding(by name: ProxyName, in bytes: UnsafeRawBufferPointer) throws(ForwardingError) {
    if passed(name.bytes, in: bytes) { throw .loop }
    if expectation(in: bytes) == .unknown { throw .unknownExpectation }
  }
}

extension RequestHead {
  /// Max-Forwards 0: the request is the proxy's own to answer, with `OwnAnswer(toLastHop:)` (RFC 9110 section 7.6.2).
  @inlinable @inline(__always)
  public func endsHere(in bytes: UnsafeRawBufferPointer) -> Bool { countsForwards && maxForwards(in: bytes) == 0 }

  @inlinable @inline(__always)
  var countsForwards: Bool { method == .options || method == .trace }
}

extension ContiguousArray<Field> {
  /// Whether there is a field whose name is `name`, ignoring case and `_` against `-`.
  func has(_ name: [UInt8], in head: UnsafeRawBufferPointer) -> Bool {
    contains { $0.name.count == name.count && fieldNameEquals($0.name.bytes(in: head), name) }
  }
}
