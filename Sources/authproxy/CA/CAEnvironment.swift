import ArgumentParser
import ConfigurationFile
import Interception
import Settings

struct CAEnvironment: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "env",
    abstract: "Print what apps are told so that they trust the CAs: one assignment a line.",
    discussion: "The files that the variables name are in the folder `intercept.publish`; the running proxy writes them.")

  enum Format: String, ExpressibleByArgument, CaseIterable { case sh, docker, systemd }

  @Option(name: .long, help: "The configuration file.", completion: .file())
  var config: String

  @Option(name: .long, help: "For `eval` and `.`, for `docker run --env-file`, or for EnvironmentFile= of systemd.")
  var format = Format.sh

  @Flag(name: .long, help: "Also set http_proxy and https_proxy to the first listener.")
  var proxy = false

  func run() throws {
    // Apps need not read the keys of CAs.
    let loaded = ConfigurationFile.load(path: config, environment: Environment.current, makesAuthorities: true)
    for error in loaded.errors { Terminal.error("\(error)") }
    guard let settings = loaded.settings else { throw ExitStatus.badConfiguration }
    guard let folder = settings.intercept?.publish else {
      throw ValidationError("\(config) has no 'intercept.publish', so there are no files to name")
    }
    var url: String?
    if proxy {
      url = settings.proxyURL
      guard url != nil else { throw ValidationError("\(config) has no listener with an address and a port") }
    }
    let text = AppEnvironment(folder: folder, proxy: url).text(format.known)
    Terminal.print(String(text.dropLast()))
  }
}

extension CAEnvironment.Format {
  fileprivate var known: AppEnvironment.Format {
    switch self {
    case .sh: .sh
    case .docker: .docker
    case .systemd: .systemd
    }
  }
}
