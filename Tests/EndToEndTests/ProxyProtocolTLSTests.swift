import Foundation
import Testing

/// A PROXY header comes before the listener's own TLS.
@Suite struct ProxyProtocolTLSTests {
  private func configuration(_ top: String = "") throws -> String {
    """
    listen: {address: 127.0.0.1:0, tls: {names: [localhost]}, proxy_protocol: [127.0.0.1]}
    clients: [{name: shop, from: [192.0.2.0/24]}]

    """ + (try Intercepted.configuration(top: top))
  }

  @Test(arguments: [[], ["--bytewise"], ["--tls", "1.2"]])
  func `header and handshake in one piece, and each byte alone`(_ options: [String]) throws {
    try withProxy(try configuration()) { proxy throws in
      let request = ProxyProcess.last("GET", "/echo")
      let headers = [
        BalancerHeader.line("192.0.2.7"), BalancerHeader.block((192, 0, 2, 7), tlvs: BalancerHeader.tlv(3000)),
      ]
      for header in headers {
        let seen = try proxy.inside(
          request,
          ["--over", "localhost:\(proxy.root)", "--header", header.map { String(format: "%02x", $0) }.joined()] + options)
        #expect(seen.statuses == [200], "\(seen)")
        let line = proxy.process.awaitLine { $0.contains(#""path":"/echo""#) }
        #expect(line?.contains(#""client":"shop""#) == true && line?.contains(#""peer":"192.0.2.7:40000""#) == true)
      }
    }
  }

  @Test func `without a header, a handshake is closed without a byte`() throws {
    try withProxy(try configuration()) { proxy throws in
      let client = try proxy.connect()
      try client.send([0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x00])
      #expect(try client.readToEnd().bytes.isEmpty)
      #expect(proxy.process.awaitLine { $0.contains("without a valid PROXY header") } != nil)
    }
  }

  @Test func `clear HTTP behind the header is the 400 of a TLS listener, and silence ends in time`() throws {
    try withProxy(try configuration("timeouts: {handshake: 1s}")) { proxy throws in
      let client = try proxy.connect()
      try client.send(BalancerHeader.line("192.0.2.7") + Array(ProxyProcess.request("GET", "http://api.test/").utf8))
      let answer = try client.readAnswer()
      #expect(answer.status == 400 && answer.text.contains("https://"), "\(answer.head)\(answer.text)")
      for bytes: [UInt8] in [[], [0x16, 3]] {
        let silent = try proxy.connect()
        try silent.send(BalancerHeader.local + bytes)
        #expect(try silent.readToEnd(seconds: 8).bytes.isEmpty)
      }
    }
  }
}
