import Foundation
import Testing

/// Session tickets are not data. If an origin sends nothing else, the proxy closes the connection, and meanwhile delays nobody.
@Suite(.serialized) struct TicketFloodTests {
  @Test(arguments: [false, true]) func `a flood of session tickets ends its own connection only`(whileActive: Bool) throws {
    let (hostile, other) = (try Origin.hostile(), try Origin.shared())
    let text = """
      threads: 1
      upstreams:
        - {match: bad.test, origin: "\(try Wire.tls13.url(hostile))"}
        - {match: good.test, origin: "http://127.0.0.1:\(other.ports.http)"}
      """
    try withProxy(text) { proxy in
      let name = Origin.newName()
      let answer = Origin.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      try hostile.script(name, whileActive ? [.stand(name), .flood(30)] : [answer, .stand(name), .flood(30)])
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://bad.test/?id=\(name)"))
      if !whileActive { #expect(try client.readAnswer().text == "ok") }
      #expect(try hostile.standing(name, count: 1) == 1)

      let victim = try proxy.connect()
      try hostile.release(name)
      var times: [Double] = []
      for _ in 0..<21 {
        let start = Date()
        try victim.send(ProxyProcess.request("GET", "http://good.test/status/202"))
        #expect(try victim.readAnswer().status == 202)
        times.append(Date().timeIntervalSince(start))
      }
      times.sort()
      #expect(times[10] < 0.3, "others wait: \(times)")
      // Long before the flood would end.
      try hostile.await(name, state: "closed", seconds: 5)
      if whileActive { #expect(try client.readAnswer().status == 502) }
      #expect(try proxy.ask("http://bad.test/").status == 200)
    }
  }
}
