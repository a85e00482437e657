import Foundation
import Testing

/// zsh and fish. bash is in CompletionTests.
@Suite struct PeerCompletionTests {
  @Test(.needs("zsh")) func `zsh completes commands, options, files and names of credentials`() throws {
    let zsh = try Completion("zsh")
    let completed = try zsh.complete(
      "authproxy logi", "authproxy check --config pro", "authproxy login --config proxy.conf cal",
      "authproxy login --config proxy.conf --no-b", "authproxy logout --config proxy.conf sto")
    #expect(
      completed == [
        "authproxy login ", "authproxy check --config proxy.conf ", "authproxy login --config proxy.conf calendar ",
        "authproxy login --config proxy.conf --no-browser ", "authproxy logout --config proxy.conf stored ",
      ])
    #expect(!FileManager.default.fileExists(atPath: zsh.folder + "/ran"))
  }

  @Test(.needs("zsh")) func `a name is text for zsh, whatever is in it`() throws {
    let zsh = try Completion("zsh", Self.odd)
    #expect(
      try zsh.complete("authproxy login --config proxy.conf tw", "authproxy login --config proxy.conf co")
        == [#"authproxy login --config proxy.conf two\ words "#, "authproxy login --config proxy.conf col:on "])
    #expect(!FileManager.default.fileExists(atPath: zsh.folder + "/ran"))
  }

  @Test(.needs("fish")) func `fish completes commands, options, files and names of credentials`() throws {
    let fish = try Completion("fish")
    func candidates(_ line: String) throws -> [String] {
      // What follows a tab is a description.
      try fish.candidates("source $argv[1]; complete -C $argv[2]", line).map { String($0.prefix { $0 != "\t" }) }
    }
    #expect(try candidates("authproxy logi") == ["login"])
    #expect(try candidates("authproxy check --config pro") == ["proxy.conf"])
    #expect(try candidates("authproxy login --config proxy.conf ") == ["calendar", "mailbox"])
    #expect(try candidates("authproxy login --config proxy.conf --no-b") == ["--no-browser"])
    #expect(!FileManager.default.fileExists(atPath: fish.folder + "/ran"))
  }

  @Test(.needs("fish")) func `a name is text for fish, whatever is in it`() throws {
    let fish = try Completion("fish", Self.odd)
    let names = try fish.candidates("source $argv[1]; complete -C $argv[2]", "authproxy login --config proxy.conf ")
    #expect(names == ["$(touch ran)", "(touch ran)", "two words", "col:on"])
    #expect(!FileManager.default.fileExists(atPath: fish.folder + "/ran"))
  }

  private static let odd = """
    credentials:
      "$(touch ran)": &login {oauth2: {grant: device_code, issuer: https://login.test, client_id: c}}
      "(touch ran)": *login
      two words: *login
      "col:on": *login
    """
}
