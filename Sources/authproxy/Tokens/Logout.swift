import ArgumentParser
import ConfigurationFile

struct LogoutCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout",
    abstract: "Forget a credential's tokens, and revoke them at the server.",
    discussion: """
      A running proxy with the same token store stops using them within two seconds. Exit status: 0 done or not logged in, 64 usage, \
      69 server unreachable or failing (the next logout revokes again), 77 refused, 78 configuration.
      """)

  @Option(name: .long, help: "The configuration file.", completion: .file())
  var config: String

  @Argument(help: "The credential.", completion: .credential(for: .logout))
  var name: String

  @Flag(name: .long, help: "Only forget them here; the server is not told.")
  var local = false

  func run() throws {
    let session = try CredentialSession(config: config, name: name, for: .logout)
    try session.logOut(isLocal: local)
  }
}
