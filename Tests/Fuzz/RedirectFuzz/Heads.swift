import Forwarding
import HTTPWire
import Routing

private let own = "http://api.test"
private let secrets = ["app-token", "app-cookie", "app-key", "app-page"]

/// The next request is one whole head, with none of the app's secrets where another host or entry is asked, and the answer to it says
/// nothing in the name of the app's.
func checkHeads(_ redirect: Redirect, _ destination: RedirectDestination, _ location: [UInt8]) {
  var url = redirect.target.url
  if case .entry(_, let text) = destination { url = (try? HTTPURL(text)) ?? url }
  for isElsewhere in [false, true] {
    guard let text = request(redirect, to: url, isElsewhere, location) else { return }
    text.withUnsafeBytes { bytes in
      var head = RequestHead()
      guard case .complete = head.parse(bytes, limit: bytes.count) else { preconditionFailure("no whole head") }
      precondition(head.fields.count { $0.id == .host } == 1, "several hosts")
      do {
        try head.checkHost(in: bytes)
        let target = try RequestTarget(of: head, in: bytes)
        precondition(target.form == .absolute && target.isHTTPS == url.isHTTPS)
        precondition(String(decoding: target.host.bytes(in: bytes), as: UTF8.self).lowercased() == url.host)
      } catch { preconditionFailure("\(error)") }
    }
    let whole = String(decoding: text, as: UTF8.self)
    if isElsewhere { precondition(!secrets.contains { whole.contains($0) }, "a secret leaves") }
  }
  checkAnswer(redirect.target.url, location, isOwn: false)
  checkAnswer(redirect.target.url, location, isOwn: true)
}

private func request(_ redirect: Redirect, to url: HTTPURL, _ isElsewhere: Bool, _ location: [UInt8]) -> [UInt8]? {
  let sent =
    Array(
      """
      POST \(own)/app-page HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer app-token\r\ncookie: app-cookie\r\nX_Key: app-key\r
      Referer: \(own)/app-page?x\r\nOrigin: \(own)\r\nContent-Type: a/b\r\nReferer: 
      """.utf8) + location + Array("\r\n\r\n".utf8)
  return sent.withUnsafeBytes { bytes -> [UInt8]? in
    var head = RequestHead()
    let departure = RedirectedHead.Departure(withheld: [Array("x-key".utf8)], isHTTPS: redirect.target.url.isHTTPS, origin: own)
    let plan = RedirectedHead(
      method: redirect.target.method, url: url, dropsContent: redirect.dropsContent, dropsTrailer: false,
      departure: isElsewhere ? departure : nil)
    // No field has such a fragment.
    guard case .complete = head.parse(bytes, limit: bytes.count) else { return nil }
    return plan.text(of: head, in: bytes)
  }
}

private let rules = ForwardingRules(name: ProxyName("px"), credentialField: nil, rewriteTo: own)

private func checkAnswer(_ url: HTTPURL, _ value: [UInt8], isOwn: Bool) {
  let names = ["Location", "Content-Location", "Link", "Refresh", "Set-Cookie", "Clear-Site-Data"]
  let text = Array("HTTP/1.1 200 OK\r\n".utf8) + names.flatMap { Array("\($0): ".utf8) + value + [13, 10] } + [13, 10]
  text.withUnsafeBytes { bytes in
    var head = ResponseHead()
    guard case .complete = head.parse(bytes, limit: bytes.count) else { return }
    let origin = OriginAuthority(isTLS: url.isHTTPS, host: url.host, port: url.effectivePort)
    let lines = rules.settled(&head, in: bytes, at: url, isOwn: isOwn, of: origin, asked: "api.test")
    let whole = Array("HTTP/1.1 200 OK\r\n".utf8) + lines + [13, 10]
    whole.withUnsafeBytes { bytes in
      var again = ResponseHead()
      guard case .complete = again.parse(bytes, limit: bytes.count) else { preconditionFailure("the lines are no fields") }
    }
    if isOwn { return }
    for field in head.fields where !field.dropped {
      let name = String(decoding: field.name.bytes(in: bytes), as: UTF8.self)
      precondition(!["Refresh", "Set-Cookie", "Clear-Site-Data"].contains(name), "\(name) speaks for the app's host")
    }
  }
}
