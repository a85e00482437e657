import ArgumentParser
import SmallHTTP

struct Health: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Ask the admin listener of a running proxy whether it serves. Exit status: 0 if it does, else 1.")

  @Option(name: .long, help: "The configuration file of the running proxy.", completion: .file())
  var config = "proxy.conf"

  @Flag(name: .long, help: "Ask /readyz instead of /healthz.")
  var ready = false

  func run() throws {
    let address = try AdminListener.address(config)
    let page = ready ? "/readyz" : "/healthz"
    switch HTTPClient.get(page, from: address, milliseconds: 5_000) {
    case .failure(let error):
      Terminal.error("authproxy: \(address)\(page): \(error)")
      throw ExitCode(1)
    case .success(let answer):
      Terminal.print(answer.text.hasSuffix("\n") ? String(answer.text.dropLast()) : answer.text)
      guard answer.status == 200 else { throw ExitCode(1) }
    }
  }
}
