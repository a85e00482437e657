import Foundation
import Testing

/// zsh and fish. bash is in CompletionTests.
@Suite struct PeerCompletionTests {
  @Test(.needs("zsh")) func `zsh completes commands, options, files and names of credentials`() throws { try expectAll("zsh") }
  @Test(.needs("fish")) func `fish completes commands, options, files and names of credentials`() throws {
    try expectAll("fish")
  }

  private func expectAll(_ shell: String) throws {
    let shell = try Completion(shell)
    let lines = [
      ("authproxy logi", "n"), ("authproxy check --config pro", "xy.conf"),
      ("authproxy ca env --config proxy.conf --format do", "cker"),
      ("authproxy login --config proxy.conf cal", "endar"), ("authproxy login --config proxy.conf --no-b", "rowser"),
      ("authproxy login --config proxy.conf sta", ""), ("authproxy logout --config proxy.conf sto", "red"),
      ("authproxy tokens --config proxy.conf sta", "tic"), ("authproxy tokens --config other.conf sta", ""),
    ]
    let completed = try shell.complete(lines.map(\.0))
    #expect(completed == lines.map { $0 + $1 })
    #expect(!FileManager.default.fileExists(atPath: shell.folder + "/ran"))
  }

  @Test(.needs("zsh")) func `a name is text for zsh, whatever is in it`() throws {
    try expectText("zsh")
  }

  @Test(.needs("fish")) func `a name is text for fish, whatever is in it`() throws {
    try expectText("fish")
  }

  private func expectText(_ shell: String) throws {
    let shell = try Completion(
      shell,
      #"""
      credentials:
        "$(touch ran)": &login {oauth2: {grant: device_code, issuer: https://login.test, client_id: c}}
        "(touch ran)": *login
        "`touch ran`": *login
        two words: *login
        "col:on": *login
      """#)
    // Nothing typed: the shell shows all names.
    let names = [("tw", #"o\ words"#), ("col", ":on"), ("", "")]
    let line = "authproxy login --config proxy.conf"
    let completed = try shell.complete(names.map { typed, _ in "\(line) \(typed)" })
    #expect(completed == names.map { typed, rest in typed.isEmpty ? line : "\(line) \(typed)\(rest)" })
    #expect(!FileManager.default.fileExists(atPath: shell.folder + "/ran"))
  }
}
