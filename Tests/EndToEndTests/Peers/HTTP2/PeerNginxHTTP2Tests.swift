import Foundation
import Testing

/// nginx, which ends each HTTP/2 connection after some requests, and says so by GOAWAY.
@Suite struct PeerNginxHTTP2Tests {
  private static let (clients, each) = (8, 38)

  private static func post(_ client: Int, through proxy: ProxyProcess, _ sent: Monitor<Int>, _ faults: Monitor<[String]>) {
    do {
      let connection = try proxy.connect()
      connection.timeout = 60
      for number in 0..<each {
        try connection.send(ProxyProcess.request("POST", "http://api.test/\(client)-\(number)", body: "\(number)"))
        let answer = try connection.readAnswer()
        if answer.status != 200 || answer.text != "small" { faults.change { $0.append("\(client)-\(number): \(answer.head)") } }
        sent.change { $0 += 1 }
      }
    } catch { faults.change { $0.append("\(client): \(error)") } }
  }

  @Test(.needs("nginx"))
  func `three hundred POSTs lose none and send none twice, though nginx restarts, and the trust is replaced`() throws {
    let nginx = try HTTP2Server(.nginx)
    let ca = "\(try Surroundings.pki())/ca.pem"
    func configuration(_ more: String) -> String {
      """
      threads: 2
      log: {access: false}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(nginx.port)", http_version: 2}
      trust:
        default:
          - default: {ca_file: \(ca), system_roots: false\(more)}
      """
    }
    try withProxy(configuration("")) { proxy throws in
      let (sent, faults, left) = (Monitor(0), Monitor<[String]>([]), Monitor(Self.clients))
      for client in 0..<Self.clients {
        Thread {
          Self.post(client, through: proxy, sent, faults)
          left.change { $0 -= 1 }
        }.start()
      }
      #expect(sent.wait(60) { $0 > 60 ? true : nil } == true)
      nginx.restartGracefully()
      #expect(sent.wait(60) { $0 > 140 ? true : nil } == true)
      try proxy.reload(configuration(", min_version: tls1.3"))
      #expect(left.wait(120) { $0 == 0 ? true : nil } == true)
      let found = faults.change { $0 }
      #expect(found.isEmpty, "\(found.count): \(found.prefix(5))")
      let expected = (0..<Self.clients).flatMap { client in (0..<Self.each).map { "HTTP/2.0 /\(client)-\($0) 200" } }
      #expect(try nginx.logged().sorted() == expected.sorted())
    }
    #expect(nginx.process.ending == nil, "\(nginx.process.errors)")
  }
}
