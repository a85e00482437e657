import Foundation
import Testing

@Suite struct CompletionTests {
  @Test func `bash completes commands, options and files`() throws {
    let bash = try Completion("bash")
    #expect(try bash.bash("authproxy lo") == ["login", "logout"])
    #expect(try bash.bash("authproxy ca ").contains("create"))
    #expect(try bash.bash("authproxy login --de") == ["--device"])
    #expect(try bash.bash("authproxy check --config pro") == ["proxy.conf"])
    #expect(try bash.bash("authproxy ca env --format do") == ["docker"])
    #expect(try bash.bash("authproxy explain --config proxy.conf P").sorted() == ["PATCH", "POST", "PUT"])
  }

  @Test func `names of credentials come from the configuration that --config names, as far as the command accepts them`() throws
  {
    let bash = try Completion("bash")
    #expect(try bash.bash("authproxy login --config proxy.conf ") == ["calendar", "mailbox"])
    #expect(try bash.bash("authproxy logout --config proxy.conf ") == ["calendar", "mailbox", "stored"])
    #expect(
      try bash.bash("authproxy tokens --config proxy.conf ") == ["calendar", "mailbox", "stored", "service", "static"])
    #expect(try bash.bash("authproxy login --config proxy.conf ma") == ["mailbox"])
    #expect(try bash.bash("authproxy login --config ~/proxy.conf ma") == ["mailbox"])
    #expect(try bash.bash("authproxy login --config \"\(bash.folder)/proxy.conf\" ma") == ["mailbox"])
    // Without --config: the file of this name in the folder.
    #expect(try bash.bash("authproxy login ma") == ["mailbox"])
    #expect(try bash.bash("authproxy login --config other.conf ma") == [])
    #expect(!FileManager.default.fileExists(atPath: bash.folder + "/ran"))
  }

  @Test func `Tab in a terminal completes the line`() throws {
    let bash = try Completion("bash")
    #expect(
      try bash.complete(["authproxy logi", "authproxy login --config proxy.conf cal"])
        == ["authproxy login", "authproxy login --config proxy.conf calendar"])
  }

  @Test func `a name is text for the shell, whatever is in it`() throws {
    let grant = "{oauth2: {grant: device_code, issuer: https://login.test, client_id: c}}"
    let names = ["$(touch ran)", "`touch ran`", "two words", "it's", "semi;touch ran", "$HOME", "back\\slash", "*"]
    let lines =
      names.map { "  \"\($0.replacing("\\", with: "\\\\"))\": \(grant)" } + [
        #"  "line\nfeed": \#(grant)"#, "  plain: \(grant)",
      ]
    let bash = try Completion("bash", "credentials:\n" + lines.joined(separator: "\n") + "\n")
    #expect(try bash.bash("authproxy login --config proxy.conf ") == names + ["plain"])
    #expect(
      try bash.complete(["authproxy login --config proxy.conf tw"]) == [#"authproxy login --config proxy.conf two\ words"#])
    #expect(!FileManager.default.fileExists(atPath: bash.folder + "/ran"))
  }

  @Test(arguments: [
    "credentials: [", "- a\n", "", "credentials: 5ecret\n", "credentials: {a: {oauth2: {grant: 5ecret}}}\n", "\u{0}",
  ])
  func `a configuration with errors offers nothing, and says nothing`(_ text: String) throws {
    #expect(try Completion("bash", text).bash("authproxy login --config proxy.conf ") == [])
  }

  @Test func `neither does one that is no file`() throws {
    let bash = try Completion("bash")
    let pipe = bash.folder + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    for path in [pipe, bash.folder, "/dev/zero", "missing"] {
      #expect(try bash.bash("authproxy login --config \(path) ") == [], "\(path)")
    }
  }
}
