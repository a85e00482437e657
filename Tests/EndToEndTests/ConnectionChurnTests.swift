import Foundation
import Testing

/// Connections come and go, and leave nothing behind.
@Suite(.serialized) struct ConnectionChurnTests {
  @Test func `100,000 client connections leave descriptors and memory where they were`() throws {
    let (server, port) = try LoadGenerator.serve()
    defer { server.closeInput() }
    try withProxy(try Configuration.http(top: "log: {access: false}\ntimeouts: {upstream_idle: 500ms}", port: port)) { proxy in
      func churn(_ count: Int) throws {
        for how in ["fin", "rst"] {
          let result = try LoadGenerator.load(
            proxy, "http://api.test/", "--clients", "64", "--requests", "\(count / 2)", "--new-connections", how)
          #expect(result.good == count / 2, "\(result)")
        }
      }
      let start = try Measures(proxy.pid)
      try churn(4_000)
      let before = try Measures(proxy.pid)
      try churn(100_000)
      // The proxy closes pooled connections that are idle for long enough.
      let settled = try eventually { try Measures(proxy.pid).sockets <= start.sockets }
      let after = try Measures(proxy.pid)
      #expect(settled, "\(start) \(after)")
      #expect(after.resident - before.resident < 4 << 10, "\(before) \(after)")
    }
  }

  @Test func `connections to a TLS origin that closes each leave nothing behind`() throws {
    let origin = try Origin()
    let name = Origin.newName()
    try origin.script(name, [.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), .readBody, .close])
    try withProxy(try Configuration.https(top: "log: {access: false}", origin: origin)) { proxy in
      func churn(_ count: Int) throws {
        let result = try LoadGenerator.load(
          proxy, "http://api.test/?id=\(name)", "--clients", "8", "--requests", "\(count)")
        #expect(result.good == count, "\(result)")
      }
      try churn(300)
      _ = try origin.connections("https", count: 0)
      let before = try Measures(proxy.pid)
      try churn(3_000)
      let settled = try eventually { try Measures(proxy.pid).descriptors <= before.descriptors }
      let after = try Measures(proxy.pid)
      #expect(settled, "\(before) \(after)")
      #expect(after.resident - before.resident < 6 << 10, "\(before) \(after)")
      #expect(try origin.connections("https").accepted >= 3_300)
    }
  }

  @Test func `clients that leave in the middle of an answer leave nothing behind`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https(origin: origin)) { proxy in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let before = try Measures(proxy.pid)
      for turn in 0..<100 {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/bytes/\(16 << 20)"))
        #expect(try client.readHead().status == 200)
        if turn.isMultiple(of: 2) { client.reset() } else { client.close() }
      }
      let settled = try eventually { try Measures(proxy.pid).descriptors <= before.descriptors }
      let after = try Measures(proxy.pid)
      #expect(settled, "\(before) \(after)")
      #expect(try origin.connections("https", most: 1).fits)
    }
  }
}
