import ArgumentParser
import ConfigurationFile
import Credentials
import Crypto
import Glibc
import Login
import Settings

struct LoginCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Log in to a credential with grant authorization_code or device_code.",
    discussion: """
      Standard output has the URL alone, and with a user code that alone on the next line; everything else goes to standard error. A \
      running proxy with the same token store uses the login within two seconds. Exit status: 0 done, 64 usage, 69 server \
      unreachable or failing or port in use, 75 no answer in time, 77 refused, 78 configuration.
      """)

  @Option(name: .long, help: "The configuration file.", completion: .file())
  var config: String

  @Argument(help: "The credential; not needed if only one has a login.", completion: .credential(for: .login))
  var name: String?

  @Flag(name: .long, help: "Log in on another device, with a code.")
  var device = false

  @Flag(name: .long, help: "Start no browser.")
  var noBrowser = false

  @Flag(name: .long, help: "Take the URL to which the browser was sent as a line of standard input.")
  var paste = false

  @Flag(name: .long, help: "First log out, and revoke the tokens.")
  var revoke = false

  @Flag(name: .long, help: "Allow another account than the one that was logged in.")
  var otherAccount = false

  @Option(name: .long, help: "How long to wait for the person.")
  var timeout = "10m"

  func validate() throws {
    do { _ = try Units.duration(timeout) } catch { throw ValidationError("--timeout: \(error)") }
  }

  func run() throws {
    let session = try CredentialSession(config: config, name: name, for: .login)
    let options = LoginOptions(
      timeout: Int64(try Units.duration(timeout)),
      browser: BrowserChoice(forbidden: noBrowser || geteuid() == 0, environment: Environment.current),
      readsLines: paste || isatty(0) == 1 || !session.listens, otherAccount: otherAccount)
    let dpopKey: DPoPKey?
    do throws(OpenSSLError) { dpopKey = try session.policy.keyForLogin() } catch {
      Terminal.error("authproxy: no key for this login: \(error)")
      throw ExitStatus.internalError
    }
    if revoke { try session.logOut(precedesLogin: true) }
    let machine: LoginMachine
    if device || session.policy.isDeviceGrant {
      machine = .device(DeviceFlow(name: session.name, policy: session.policy, options: options, dpopKey: dpopKey))
    } else {
      guard let random = try? SecureRandom.bytes(LoginSecrets.randomBytes), let secrets = LoginSecrets(random: random) else {
        Terminal.error("authproxy: no random bytes")
        throw ExitStatus.internalError
      }
      machine = .browser(
        LoginFlow(name: session.name, policy: session.policy, options: options, secrets: secrets, dpopKey: dpopKey))
    }
    let (end, _) = session.run(machine, readsLines: options.readsLines)
    try session.report(end)
  }
}

extension OAuth2Policy {
  fileprivate var isDeviceGrant: Bool { if case .deviceCode = grant { true } else { false } }
}
