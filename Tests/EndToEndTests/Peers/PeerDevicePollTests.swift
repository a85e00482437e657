import Foundation
import Testing

/// When a device login polls (RFC 8628 section 3.5), as its server measures it. All cases run at once, as an interval is 5 s.
@Suite struct PeerDevicePollTests {
  private struct Case {
    let interval, answers: String
    /// Seconds from an answer, or from the end of the time-out, to the next poll.
    let gaps: [Double]
    init(_ interval: String, _ answers: String, _ gaps: Double...) {
      (self.interval, self.answers, self.gaps) = (interval, answers, gaps)
    }
  }

  private final class Run {
    let one: Case
    let server, login: ChildProcess

    init(_ one: Case) throws {
      self.one = one
      server = try ChildProcess(Surroundings.python, [LoginPeer.programs + "/device_server.py", one.interval, one.answers])
      guard let port = server.awaitLine(where: { _ in true }) else { throw HarnessError(server.errors) }
      let folder = try Surroundings.newFolder()
      let base = "http://127.0.0.1:\(port)"
      try ProxyProcess.write(
        """
        listen: 127.0.0.1:0
        token_store: {file: tokens.json}
        upstreams:
          - {match: api.test, origin: "\(base)", credential: tv}
        credentials:
          tv:
            allow_plaintext: true
            oauth2:
              grant: device_code
              token_url: \(base)/token
              device_authorization_url: \(base)/device
              client_id: tv
              timeout: 1s

        """, to: folder + "/proxy.conf")
      login = try ChildProcess(Surroundings.program, ["login", "--config", folder + "/proxy.conf"])
      login.closeInput()
    }

    func expectGaps() throws {
      #expect(login.awaitEnd(seconds: 60) == .exited(0), "\(one): \(login.errors)")
      let line = try #require(server.awaitLine(from: 1) { _ in true })
      let gaps = try JSONDecoder().decode([Double].self, from: Data(line.utf8))
      try #require(gaps.count == one.gaps.count, "\(one): \(gaps)")
      for (gap, expected) in zip(gaps, one.gaps) {
        // Never earlier. Later only by what a busy machine needs.
        #expect(gap >= expected - 0.02 && gap < expected + 2, "\(one): \(gaps)")
      }
    }
  }

  @Test func `polls wait a whole interval after each answer, and longer after slow_down and failures`() throws {
    let runs = try [
      Case("absent", "authorization_pending", 5, 5),
      Case("0", "", 5),
      Case("-3", "", 5),
      Case("1", "authorization_pending,authorization_pending", 1, 1, 1),
      Case("1", "slow_down,authorization_pending,slow_down", 1, 6, 6, 11),
      Case("1", "hang,authorization_pending", 1, 2, 2),
      Case("1", "503,authorization_pending", 1, 2, 2),
    ].map(Run.init)
    for run in runs { try run.expectGaps() }
  }
}
