import ArgumentParser
import CSystem
import EventIO

@main
struct AuthProxy: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "authproxy",
    abstract: "A forward proxy that sends requests to APIs over verified TLS and adds credentials that apps never see.",
    version: version,
    subcommands: [
      Run.self,
      Check.self,
      Explain.self,
      Pins.self,
      CA.self,
      LoginCommand.self,
      LogoutCommand.self,
      TokensCommand.self,
      Demo.self,
      Health.self,
      StatusCommand.self,
      Purge.self,
      SchemaCommand.self,
    ])

  static let version = "0.1.0"

  static func main() {
    // Before the process reads any secret. The files below /proc/self then belong to root. The metrics still work: everybody may
    // read statm, and the process's own threads may read fd.
    let refused = csys_set_dumpable(0)
    if refused != 0 {
      Terminal.error(
        "authproxy: warning: a core file would contain secrets, and the kernel refuses to disable it: prctl: \(Socket.text(ofError: -refused))"
      )
    }
    let arguments = Arguments.afterName
    guard let path = configurationToRun(arguments) else { return main(arguments) }
    do { try Run.serve(path, isDebuggable: false) } catch { exit(withError: error) }
  }

  /// The file of `run --config FILE`, as services and containers are started: reading these three words as any others would take a seventh of
  /// the instructions until the proxy listens. nil: the arguments are others.
  private static func configurationToRun(_ arguments: [String]) -> String? {
    guard arguments.count == 3, arguments[0] == "run", arguments[1] == "--config", !arguments[2].hasPrefix("-") else {
      return nil
    }
    return arguments[2]
  }

  func run() throws { throw ValidationError("A subcommand is missing.") }
}
