import Foundation
import Testing

/// What goes wrong behind an intercepted connection is seen inside of it, and nothing is made to look better than it is.
@Suite struct InterceptedFaultTests {
  @Test func `a cut answer ends without close_notify`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.readBody, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .close])
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let seen = try proxy.inside(ProxyProcess.request("GET", "/?id=\(name)", ["Host: api.test"]), "--patience", "5")
      #expect(seen.received.contains("hello") && seen.end == "cut", "\(seen)")
    }
  }

  @Test func `an answer that the app ends by a FIN ends without close_notify, too`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\n\r\nhello"), .gate("more"), .send(" world")])
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let client = try SteppedClient(proxy.port)
      #expect(try client.connect("api.test:443").status == 200)
      try client.tls("api.test", root: proxy.root)
      try client.send("GET /?id=\(name) HTTP/1.0\r\nHost: api.test\r\n\r\n")
      #expect(try client.read().status == 200)
      try client.fin()
      let seen = try client.end()
      #expect(seen.end == "cut", "\(seen)")
      try origin.open("more", of: name)
    }
  }

  @Test func `an origin that is not trusted is 502 inside, and gets no byte of the request`() throws {
    let text = """
      upstreams:
        - {match: "https://api.test", origin: "https://localhost:\(try Origin.shared().ports.https)", credential: api}
      credentials:
        api: {bearer: {token: \(Configuration.token)}}
      intercept: {ca: {generate: ca}}
      trust:
        default: [{default: {}}]
      """
    try withProxy(text) { proxy throws in
      let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"))
      #expect(seen.statuses == [502] && seen.received.contains("tls_certificate_error"), "\(seen)")
    }
  }

  @Test func `no origin with a leaf of our own CA is trusted, whatever the anchors are`() throws {
    let folder = try Surroundings.newFolder()
    // Another proxy's TLS listener is the origin: its leaf is of the same CA.
    let intercept = "intercept: {ca: {generate: \(folder)/ca}}"
    let front = "listen: {address: 127.0.0.1:0, tls: {names: [localhost]}}\n" + (try Intercepted.configuration(top: intercept))
    try withProxy(front) { origin throws in
      let text = """
        upstreams:
          - {match: "https://api.test", origin: "https://localhost:\(origin.port)", credential: api}
        credentials:
          api: {bearer: {token: \(Configuration.token)}}
        intercept: {ca: {generate: \(folder)/ca}}
        trust:
          default: [{default: {ca_file: \(folder)/ca/ca.pem}}]
        """
      try withProxy(text) { proxy throws in
        let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), root: folder + "/ca/ca.pem")
        #expect(seen.statuses == [502] && seen.received.contains("own_authority"), "\(seen)")
      }
    }
  }

  @Test func `an https target in the clear goes to the https entry`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let received = try proxy.ask("https://api.test/echo").received()
      #expect(received["Authorization"] == "Bearer \(Configuration.token)")
      #expect(try proxy.ask("http://api.test/echo").status == 403)
      #expect(try proxy.ask("http://api.test:443/echo").status == 403)
    }
  }
}
