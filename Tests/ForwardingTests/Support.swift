import Forwarding
import HTTPWire

let httpsOrigin = OriginAuthority(isTLS: true, host: "origin.test", port: 443)

func rules(
  credential: String? = nil, _ appCredential: ForwardingRules.AppCredential = .replace, keepsHost: Bool = false,
  decompresses: Bool = false, rewrite: ForwardingRules.Rewrite = .init(), to: String? = "http://api.test",
  rewritesURLs: Bool = true, requestHeaders: HeaderRules? = nil, responseHeaders: HeaderRules? = nil, dropsUpgrade: Bool = false
) -> ForwardingRules {
  ForwardingRules(
    name: ProxyName("px"), credentialField: credential.map { Array($0.utf8) }, appCredential: appCredential,
    keepsHost: keepsHost, decompresses: decompresses, dropsUpgrade: dropsUpgrade, rewrite: rewrite, rewriteTo: to,
    rewritesURLs: rewritesURLs,
    requestHeaders: requestHeaders, responseHeaders: responseHeaders)
}

/// The bytes of a head with these lines: CRLF between them, and a blank line at the end.
func head(_ lines: String) -> [UInt8] { Array((lines.replacing("\n", with: "\r\n") + "\r\n\r\n").utf8) }

/// Like `head`, from one text in which CRLF ends a line.
func lines(_ bytes: some Sequence<UInt8>) -> String {
  String(decoding: Array(bytes), as: UTF8.self).replacing("\r\n", with: "\n")
}

/// A request's head after forwarding.
struct Forwarded {
  var text = ""
  /// Bytes that `write` took, and the announced maximum.
  var count = 0
  var limit = 0
  var outbound = OutboundRequest()

  init?(_ bytes: [UInt8], to origin: OriginAuthority = httpsOrigin, _ rules: ForwardingRules, client: String? = nil) throws {
    var head = RequestHead()
    let isWhole = try bytes.withUnsafeBytes { bytes in
      guard case .complete = head.parse(bytes, limit: 1 << 20), let framing = try? head.framing(in: bytes),
        let target = try? RequestTarget(of: head, in: bytes)
      else { return false }
      outbound = OutboundRequest(head)
      outbound.framing = framing
      try head.checkForwarding(by: rules.name, in: bytes)
      try outbound.decide(&head, in: bytes, rules: rules)
      limit = outbound.sizeLimit(of: head, target, to: origin, rules: rules, client: client)
      (text, count) = written { outbound.write(head, in: bytes, target, to: origin, rules: rules, client: client, into: &$0) }
      return true
    }
    if !isWhole { return nil }
  }
}

/// A response's head after forwarding.
struct Relayed {
  var text = ""
  var count = 0
  var limit = 0
  var framing = BodyFraming.none
  var keepsClient = false

  init?(
    _ bytes: [UInt8], to request: OutboundRequest, of origin: OriginAuthority = httpsOrigin, _ rules: ForwardingRules,
    keepsClient: Bool = true, note: String? = nil, dateLine: String = "Date: now\r\n", client: String? = nil
  ) throws {
    var head = ResponseHead()
    let isWhole = try bytes.withUnsafeBytes { bytes in
      guard case .complete = head.parse(bytes, limit: 1 << 20), let source = try? head.framing(to: request.method, in: bytes)
      else { return false }
      if head.isInterim {
        let interim = InterimResponse(
          &head, in: bytes, to: request, awaitsContinue: false, of: origin, rules: rules, asked: "asked.test:81")
        guard let interim else { return true }
        limit = interim.sizeLimit(of: head, rules: rules)
        (text, count) = written { interim.write(head, in: bytes, rules: rules, into: &$0) }
        return true
      }
      if head.status == 101 {
        let response = try OutboundResponse(
          switching: &head, in: bytes, to: request, of: origin, rules: rules, asked: "asked.test:81")
        take(response, head, bytes, rules, dateLine, client)
      } else {
        let coding = rules.codingToRemove(from: head, in: bytes, answering: request)
        let response = OutboundResponse(
          &head, in: bytes, body: source, to: request, isInflated: coding != nil && source != .none, wasCoded: coding != nil,
          keepsClient: keepsClient, note: note, of: origin, rules: rules, asked: "asked.test:81")
        take(response, head, bytes, rules, dateLine, client)
      }
      return true
    }
    if !isWhole { return nil }
  }

  private mutating func take(
    _ response: borrowing OutboundResponse, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer,
    _ rules: ForwardingRules, _ dateLine: String, _ client: String?
  ) {
    framing = response.framing
    keepsClient = response.keepsClient
    limit = response.sizeLimit(of: bytes, head, rules: rules, client: client)
    (text, count) = written {
      response.write(head, in: bytes, rules: rules, dateLine: Array(dateLine.utf8), client: client, into: &$0)
    }
  }
}

/// The writer's output, with far more room than it needs.
func written(_ write: (inout ByteWriter) -> Void) -> (String, Int) {
  withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 8) { buffer in
    var writer = ByteWriter(buffer)
    write(&writer)
    return (lines(writer.written), writer.count)
  }
}
