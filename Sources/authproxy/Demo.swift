import ArgumentParser
import CSystem
import Dispatch
import EventIO

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "See it work: the proxy, an API and a token server in one process, with a curl line to try.",
    discussion: "Everything is on 127.0.0.1, on free ports, with certificates and tokens made for this run.")

  @Flag(name: .long, help: "Make the requests, show what happens, and exit with 0, or 1 where something went otherwise.")
  var once = false

  func run() throws {
    // Before anything is written to: without it a peer that left would end the process.
    let signals = Signals()
    let world: DemoWorld
    do { world = try DemoWorld() } catch {
      Terminal.error("authproxy: the demo cannot start: \(error)")
      throw ExitStatus.internalError
    }
    if once {
      guard DemoTour(world).run() else { throw ExitCode(1) }
      return
    }
    introduce(world)
    let farewell = DispatchQueue(label: "farewell")
    for number in [SIGINT, SIGTERM] {
      signals.on(number) { @Sendable in
        // Whoever reads this may have stopped to.
        _ = farewell.run(within: 200) { Terminal.print("\nbye") }
        Process.exit()
      }
    }
    withExtendedLifetime(signals) { dispatchMain() }
  }

  private func introduce(_ world: DemoWorld) {
    let api = "http://\(DemoConfiguration.api)"
    Terminal.print(
      """
      An API that wants a bearer token, a token server, and a proxy that knows both.

        your app --http--> authproxy --TLS, with a token--> API
                               |
                               +------TLS, for tokens-----> token server
                               +-----are they revoked?----> OCSP server

      Tokens are good for \(DemoWorld.tokenLifetime) seconds; /revoke ends one before its time.

      Everything is in this process and gone when you stop it. The proxy's whole
      configuration:

      \(world.configuration.text.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))

      Try this in another terminal:

        export http_proxy=http://\(world.proxy)
        curl \(api)/hello
        curl -H 'Authorization: Bearer guess' \(api)/hello
        curl \(api)/revoke
        curl http://\(DemoConfiguration.retired)/hello
        curl http://other.demo.internal/

      What happens shows up here. Ctrl-C ends it.

      """)
  }
}
