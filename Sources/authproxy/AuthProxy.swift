import ArgumentParser

@main
struct AuthProxy: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "authproxy",
    abstract: "A forward proxy that opens verified TLS to APIs and adds the credentials that apps never see.",
    version: version,
    subcommands: [
      Run.self,
      Check.self,
      Explain.self,
      Pins.self,
      Demo.self,
      Health.self,
    ])

  static let version = "0.1.0"
}
