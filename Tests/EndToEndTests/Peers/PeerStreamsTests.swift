import Foundation
import Testing

/// Answers that are compressed, and answers that are read as they come.
@Suite struct PeerStreamsTests {
  static let curl = #"curl -sSfN ${SSL_CERT_FILE:+--proxy-cacert "$SSL_CERT_FILE"}"#

  @Test(.needs("curl"), arguments: Peer.Way.allCases)
  func `a gzip answer arrives as the origin made it`(way: Peer.Way) throws {
    let origin = try Origin.shared()
    let file = try Peer.mebibyte.get()
    try withProxy(try Peer.configuration(over: way)) { proxy throws in
      let python = ["requests", "httpx"].map { #""$PYTHON" "$PEERS/client.py" \#($0)"# }
      for client in [Self.curl + " --compressed"] + python {
        let name = Origin.newName()
        let url = "https://api.test/encoded/gzip/\(1 << 20)?id=\(name)"
        let done = try proxy.told(client + #" "$1" | cmp - "$2""#, url, file)
        #expect(done.status == .exited(0), "\(client): \(done.errors)")
        let asked = try #require(try origin.exchanges(name).first)
        #expect(asked["Accept-Encoding"]?.contains("gzip") == true, "\(client)")
        let line = proxy.process.awaitLine { $0.contains("/encoded/gzip/") && $0.contains(#""status":200"#) }
        #expect(line?.contains(#""scheme":"https""#) == true)
      }
      let raw = try proxy.told(
        Self.curl + #" -H 'Accept-Encoding: gzip' "$1" | gzip -dc | cmp - "$2""#,
        "https://api.test/encoded/gzip/\(1 << 20)", file)
      #expect(raw.status == .exited(0), "\(raw.errors)")
    }
  }

  @Test(.needs("curl"), arguments: Peer.Way.allCases)
  func `each event is read before the next is sent`(way: Peer.Way) throws {
    let origin = try Origin.shared()
    // urllib speaks no TLS to a proxy.
    let libraries = way == .clear ? ["urllib", "requests", "httpx"] : ["requests", "httpx"]
    let clients = [Self.curl] + libraries.map { #""$PYTHON" "$PEERS/streams.py" \#($0)"# }
    try withProxy(try Peer.configuration(over: way)) { proxy in
      each(clients) { client in
        let name = Origin.newName()
        var steps: [Origin.Step] = [
          .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        ]
        for number in 0..<5 { steps += [.gate("event"), .send("9\r\ndata: \(number)\n\n\r\n")] }
        try origin.script(name, steps + [.send("0\r\n\r\n")])
        let child = try proxy.tell(client + #" "$1""#, ["https://api.test/?id=\(name)"])
        for number in 0..<5 {
          try origin.open("event", of: name)
          #expect(child.awaitLine { $0.contains("data: \(number)") } != nil, "\(client): \(child.errors)")
        }
        #expect(child.awaitEnd() == .exited(0), "\(client): \(child.errors)")
      }
    }
  }
}
