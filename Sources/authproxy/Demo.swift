import ArgumentParser
import CSystem
import Dispatch
import EventIO

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Run a demo: the proxy, an API, and servers for tokens and logins in one process, with commands to try.",
    discussion: "It listens on free ports of 127.0.0.1. Certificates and tokens are made for this run.")

  @Flag(name: .long, help: "Make the requests, show what happens, and exit: status 0, or 1 if a result differs.")
  var once = false

  func run() throws {
    // Before the process writes to any socket: otherwise SIGPIPE would end it if the peer is gone.
    let signals = Signals()
    do {
      let folder = try DemoFolder()
      end(on: signals, removing: folder)
      do { try show(DemoWorld(folder, hasLogin: !once), signals) } catch {
        folder.remove()
        throw error
      }
    } catch let status as ExitCode {
      throw status
    } catch {
      Terminal.error("authproxy: the demo cannot start: \(error)")
      throw ExitStatus.internalError
    }
  }

  private func show(_ world: DemoWorld, _ signals: Signals) throws {
    if once {
      guard withExtendedLifetime(signals, { DemoTour(world).run() }) else { throw ExitCode(1) }
      world.folder.remove()
      return
    }
    introduce(world)
    withExtendedLifetime(signals) { dispatchMain() }
  }

  private func end(on signals: Signals, removing folder: DemoFolder) {
    let (farewell, once) = (DispatchQueue(label: "farewell"), once)
    for number in [SIGINT, SIGTERM] {
      signals.on(number) { @Sendable in
        // With a deadline, as the reader of standard output may hang.
        if !once { _ = farewell.run(within: 200) { Terminal.print("\nbye") } }
        folder.remove()
        // A tour that did not come to its end is no success: the status is that of a shell for a signal.
        Process.exit(once ? 128 + number : 0)
      }
    }
  }

  private func introduce(_ world: DemoWorld) {
    let api = "http://\(DemoConfiguration.api)"
    Terminal.print(
      """
      An API that requires a bearer token, a camera that wants Digest, a store that
      wants signatures as AWS S3, servers for tokens and logins, and a proxy.

        your app --http--> authproxy --TLS, with a token--> API
                               |
                               +---HTTP/2, with a token---> API of events
                               +-------TLS, with Digest---> camera
                               +----TLS, with signatures--> store
                               +------TLS, for tokens-----> token server
                               +----for people's tokens---> login server
                               +-----are they revoked?----> OCSP server

      Tokens are valid for \(DemoWorld.tokenLifetime) seconds; /revoke revokes one earlier.

      Everything runs in this process and is gone when you stop it. The proxy's
      whole configuration, \(world.folder.configurationPath):

      \(world.configuration.text.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))

      Look at what it does, and at what goes wrong, in a browser:

        \(world.admin.map { "http://\($0)/" } ?? "")

      Try this in another terminal:

        export http_proxy=http://\(world.proxy) https_proxy=http://\(world.proxy)
        curl \(api)/hello
        curl -H 'Authorization: Bearer guess' \(api)/hello
        curl --cacert \(world.folder.roots) https://\(DemoConfiguration.api)/hello
        curl \(api)/revoke
        curl http://\(DemoConfiguration.events)/hello
        curl http://\(DemoConfiguration.camera)/picture
        curl -X PUT -d hello http://\(DemoConfiguration.store)/note
        curl http://\(DemoConfiguration.store)/note
        curl http://\(DemoConfiguration.prices)/prices
        curl -X POST -d x http://\(DemoConfiguration.prices)/prices
        curl http://\(DemoConfiguration.retired)/hello
        curl http://other.demo.internal/

      Log in as a person. There is no account: the page takes any name.

        conf=\(world.folder.configurationPath)
        \(program) login --config $conf
        curl http://\(DemoConfiguration.mail)/hello
        \(program) tokens --config $conf
        \(program) logout --config $conf mailbox

      With --device, login shows a code, as on a machine without a browser.

      This terminal shows what happens. Ctrl-C ends the demo.

      """)
  }

  /// As the demo itself was called, as it may not be installed.
  private var program: String {
    let name = csys_argument_count() > 0 ? String(cString: csys_argument(0)) : ""
    return name.contains("/") ? name : "authproxy"
  }
}
