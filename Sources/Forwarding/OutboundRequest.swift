import HTTPWire

/// A request's head for the origin, without the credential and the blank line. `decide` works on the parsed head, `write`
/// writes the new one. The facts about the app are needed again for the response's head.
public struct OutboundRequest: Sendable {
  public let method: Method
  let minorVersion: UInt8
  /// Framing of the body, the same in both directions. Set it before `decide`.
  public var framing = BodyFraming.none
  /// The entry's credential goes with it. False without one, or if the app's own field was kept.
  public private(set) var sendsCredential = false
  /// The app's AWS signature is cut from the target's query.
  private var cutsSignature = false
  /// The app asks for WebSocket.
  public private(set) var isUpgrade = false
  /// It names other protocols too, so the proxy writes Upgrade itself.
  private var writesUpgrade = false
  /// The app uses NTLM or Negotiate with the origin.
  public private(set) var authenticatesConnection = false
  /// The app itself asked for gzip; read only if the entry decompresses.
  public private(set) var acceptsGzip = false
  /// The app's own credential goes with it; read only if the entry has a cache.
  public private(set) var sendsAppCredential = false
  private var asksForGzip = false
  private var takesTrailers = false
  /// -1: none.
  private var maxForwards = -1

  /// The app speaks HTTP/1.1 or later.
  public var isHTTP11: Bool { minorVersion >= 1 }

  /// Without a head: for answers to an app whose head cannot be parsed.
  public init(method: Method = .get) {
    self.method = method
    minorVersion = 1
  }

  public init(_ head: borrowing RequestHead) {
    method = head.method
    minorVersion = head.minorVersion
  }

  /// Marks the fields that are not forwarded (RFC 9110 section 7.6).
  /// - Throws: `credentialFromApp`, `ambiguousPath`.
  public mutating func decide(
    _ head: inout RequestHead, in bytes: UnsafeRawBufferPointer, rules: ForwardingRules
  ) throws(ForwardingError) {
    if rules.hasCredential {
      sendsCredential = true
      switch rules.appCredential {
      case .replace: break
      case .keep: sendsCredential = !head.hasCredential(of: rules, in: bytes)
      case .reject:
        for field in rules.credentialFields where head.fields.has(field, in: bytes) { throw .credentialFromApp }
        if rules.credentialForm != .field, head.hasCredential(of: rules, in: bytes) { throw .credentialFromApp }
      }
      if rules.credentialForm != .field, sendsCredential {
        if let target = rules.target {
          try target.check(head.target, in: bytes)
        } else {
          cutsSignature = PresignedQuery.isPresent(in: head.target.bytes(in: bytes))
        }
      }
    }
    let hasBody = framing.hasBytes
    isUpgrade =
      !hasBody && !rules.dropsUpgrade && head.upgradeToken(in: bytes)?.equalsIgnoringCase(webSocket, in: bytes) == true
    writesUpgrade = isUpgrade && head.offersSeveralUpgrades(in: bytes)
    takesTrailers = head.acceptsTrailers(in: bytes)
    acceptsGzip = rules.decompresses && head.fields.hasMember("gzip", in: .acceptEncoding, of: bytes)
    head.markHopByHop(in: bytes, keepUpgrade: isUpgrade && !writesUpgrade)
    head.fields.drop(.host)
    if takesTrailers { head.fields.drop(.te) }
    // Each attempt adds its own Expect, if it needs one.
    if head.contains(.expect) { head.fields.drop(.expect) }
    if head.countsForwards, let count = head.maxForwards(in: bytes) {
      maxForwards = max(count - 1, 0)
      head.fields.drop(.maxForwards)
    }
    asksForGzip = rules.decompresses && !acceptsGzip && mayBeCoded(head, in: bytes)
    if asksForGzip { head.fields.drop(.acceptEncoding) }
    // The credential comes last: after Connection was applied, and after every field of its names was removed.
    if sendsCredential {
      head.fields.drop(named: rules.credentialField, in: bytes)
      if rules.hasMoreFields { for field in rules.credentialFields.dropFirst() { head.fields.drop(named: field, in: bytes) } }
    }
    if let own = rules.requestHeaders {
      own.mark(&head.fields, in: bytes)
      if own.written.contains(.acceptEncoding) { asksForGzip = false }
    }
    authenticatesConnection = head.authenticatesConnection(in: bytes)
    if rules.tellsCacheStatus {
      sendsAppCredential =
        rules.hasCredential && !sendsCredential || head.fields.contains { $0.id == .authorization && !$0.dropped }
    }
  }

  /// Whether the app's own credential passes, and the entry's does not.
  public func keepsAppCredential(
    _ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer, rules: ForwardingRules
  ) -> Bool { rules.appCredential == .keep && head.hasCredential(of: rules, in: bytes) }

  /// The target as it is written, in origin-form. Needs as many bytes as `sizeLimit(of:_:)`.
  public func write(
    _ target: RequestTarget, in bytes: UnsafeRawBufferPointer, rules: ForwardingRules, into writer: inout ByteWriter
  ) {
    if let paths = rules.paths {
      writer.append(target.pathAndQuery.bytes(in: bytes), through: paths, withoutSignature: cutsSignature)
    } else if cutsSignature {
      if target.path.isEmpty { writer.append("/") }
      writer.append(withoutSignature: target.pathAndQuery.bytes(in: bytes))
    } else {
      writer.append(originFormOf: target, method: method, in: bytes)
    }
  }

  /// Whether the target is written as it came: `RequestTarget.pathAndQuery`.
  public func keepsTarget(rules: ForwardingRules) -> Bool { rules.paths == nil && !cutsSignature }

  /// Most bytes of the target as it is written.
  public func sizeLimit(of target: RequestTarget, rules: ForwardingRules) -> Int {
    target.pathAndQuery.count + (rules.paths?.origin.count ?? 0) + 8
  }

  /// Most bytes that `write` needs after `decide`.
  public func sizeLimit(
    of head: borrowing RequestHead, _ target: RequestTarget, asked: [UInt8]? = nil, to origin: OriginAuthority,
    rules: ForwardingRules, client: @autoclosure () -> String? = nil
  ) -> Int {
    // The received bytes as they will be written (each line may grow by a space), and at most 152 bytes of the proxy's own
    // lines.
    head.methodText.count + target.pathAndQuery.count + head.fields.keptSize
      + max(origin.hostLine.count, max(target.authority.count, asked?.count ?? 0) + 8) + rules.name.viaLine.count + 256
      + (rules.paths?.origin.count ?? 0) + (rules.requestHeaders?.size(client: client()) ?? 0)
  }

  /// Writes a new head. Copies only names, values and the target's path.
  /// - Parameters:
  ///   - asked: the authority that the app asked for, where its target has none; for rules that keep Host.
  ///   - client: its name; nil: unknown.
  public func write(
    _ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer, _ target: RequestTarget, asked: [UInt8]? = nil,
    to origin: OriginAuthority, rules: ForwardingRules, client: @autoclosure () -> String? = nil, into writer: inout ByteWriter
  ) {
    writer.append(head.methodText, of: bytes)
    writer.append(" ")
    write(target, in: bytes, rules: rules, into: &writer)
    writer.append(" HTTP/1.1\r\n")
    if rules.keepsHost, target.form == .absolute {
      writer.appendField("Host", target.authority.bytes(in: bytes))
    } else if rules.keepsHost, let asked {
      asked.withUnsafeBytes { writer.appendField("Host", $0) }
    } else {
      writer.append(origin.hostLine)
    }
    writer.append(fieldsOf: head.fields, in: bytes)
    if let own = rules.requestHeaders { writer.append(own, client: client()) }
    if maxForwards >= 0 { writer.appendField("Max-Forwards", decimal: Int64(maxForwards)) }
    if asksForGzip { writer.appendField("Accept-Encoding", "gzip") }
    writer.append(viaOf: rules.name, minorVersion: minorVersion)
    if takesTrailers { writer.append("TE: trailers\r\n") }
    if isUpgrade {
      if writesUpgrade { writer.appendField("Upgrade", webSocket) }
      writer.appendField("Connection", takesTrailers ? "upgrade, TE" : "upgrade")
    } else {
      // RFC 9110 section 10.1.4: TE is hop-by-hop, so Connection must name it.
      if takesTrailers { writer.appendField("Connection", "TE") }
      writer.append(framing: framing)
    }
  }
}

/// The only protocol that the proxy upgrades to. Others would carry requests past its rules, above all `h2c`.
let webSocket: StaticString = "websocket"

extension RequestHead {
  /// Checks before a request has an entry.
  /// - Throws: `loop`, `unknownExpectation`.
  public func checkForwarding(by name: ProxyName, in bytes: UnsafeRawBufferPointer) throws(ForwardingError) {
    if passed(name.bytes, in: bytes) { throw .loop }
    if expectation(in: bytes) == .unknown { throw .unknownExpectation }
  }
}

extension RequestHead {
  /// Max-Forwards 0: the proxy itself must answer, with `OwnAnswer(toLastHop:)` (RFC 9110 section 7.6.2).
  @inlinable @inline(__always)
  public func endsHere(in bytes: UnsafeRawBufferPointer) -> Bool { countsForwards && maxForwards(in: bytes) == 0 }

  @inlinable @inline(__always)
  var countsForwards: Bool { method == .options || method == .trace }
}

extension RequestHead {
  /// Whether the app sends a credential of its own.
  fileprivate func hasCredential(of rules: ForwardingRules, in bytes: UnsafeRawBufferPointer) -> Bool {
    switch rules.credentialForm {
    case .field: return fields.has(rules.credentialField, in: bytes)
    case .awsSignature:
      for field in fields where field.id == .authorization {
        if AWSAuthorization.isScheme(field.value.bytes(in: bytes)) { return true }
      }
      return PresignedQuery.isPresent(in: target.bytes(in: bytes))
    case .parameter, .segment: return rules.target?.isPresent(in: target.bytes(in: bytes)) ?? false
    }
  }
}

extension ContiguousArray<Field> {
  /// Whether there is a field with this name, ignoring case and `_` against `-`.
  func has(_ name: [UInt8], in head: UnsafeRawBufferPointer) -> Bool {
    contains { $0.name.count == name.count && fieldNameEquals($0.name.bytes(in: head), name) }
  }
}
