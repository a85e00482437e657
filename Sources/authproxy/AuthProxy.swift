import ArgumentParser
import CSystem
import EventIO

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

  static func main() {
    // Before anything secret is read. The files below /proc/self then belong to root, but the process itself still reads what its
    // metrics need: statm is readable by all, and fd by its own threads.
    let refused = csys_set_dumpable(0)
    if refused != 0 {
      Terminal.error("authproxy: warning: a core file would hold secrets: prctl: \(Socket.text(ofError: -refused))")
    }
    main(Arguments.afterName)
  }

  func run() throws { throw ValidationError("A subcommand is missing.") }
}
