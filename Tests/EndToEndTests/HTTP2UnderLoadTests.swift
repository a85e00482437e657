import Foundation
import Testing

/// Connections that end under load lose nothing.
@Suite struct HTTP2UnderLoadTests {
  /// A client that sends POSTs one after another.
  private static func post(_ count: Int, _ client: Int, through proxy: ProxyProcess, _ faults: Monitor<[String]>) {
    do {
      let connection = try proxy.connect()
      connection.timeout = 60
      for number in 0..<count {
        // Never many at once: a request is repeated three times only.
        let name = client < 3 && number % 10 == 9 - client * 3 ? "away" : "stays"
        try connection.send(
          ProxyProcess.request("POST", "http://api.test/\(client)/\(number)?id=\(name)", body: "\(client)-\(number)"))
        let answer = try connection.readAnswer()
        if answer.status != 200 || answer.text != "ok" { faults.change { $0.append("\(client)-\(number): \(answer.head)") } }
      }
    } catch { faults.change { $0.append("\(client): \(error)") } }
  }

  @Test func `GOAWAY after every few requests, and reloads that replace the trust, lose no POST`() throws {
    let origin = try HTTP2Origin()
    try origin.script("stays", HTTP2Origin.Step.answer("ok"))
    // Those above are not processed; this one is.
    try origin.script("away", HTTP2Origin.Step.answer("ok") + [.goAway(-1, 0, "")])
    let ca = "\(try Surroundings.pki())/ca.pem"
    func configuration(_ more: String) -> String {
      origin.configuration(top: "threads: 2\nlog: {access: false}")
        + "\ntrust:\n  default:\n    - default: {ca_file: \(ca), system_roots: false\(more)}\n"
    }
    try withProxy(configuration("")) { proxy throws in
      let (clients, each) = (12, 40)
      let faults = Monitor<[String]>([])
      let left = Monitor(clients)
      for client in 0..<clients {
        let thread = Thread {
          Self.post(each, client, through: proxy, faults)
          left.change { $0 -= 1 }
        }
        thread.start()
      }
      for round in 0..<4 { try proxy.reload(configuration(round % 2 == 0 ? ", min_version: tls1.3" : "")) }
      #expect(left.wait(120) { $0 == 0 ? true : nil } == true)
      let found = faults.change { $0 }
      #expect(found.isEmpty, "\(found.count) of \(clients * each): \(found.prefix(5))")
      let log = try origin.tell()
      #expect(log.connections.count > 5)
    }
  }
}
