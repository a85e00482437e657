import ArgumentParser
import ConfigurationFile
import EventIO
import Settings
import SmallHTTP

struct Health: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Ask the admin listener of a running proxy whether it serves. Exit status: 0 if it does, else 1.")

  @Option(name: .long, help: "The configuration file of the running proxy.")
  var config = "proxy.conf"

  @Flag(name: .long, help: "Ask /readyz instead of /healthz.")
  var ready = false

  func run() throws {
    let endpoint: ListenerSettings.Endpoint
    do { endpoint = try ConfigurationFile.adminEndpoint(path: config) } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitCode(1)
    }
    let address: Address?
    switch endpoint {
    case .unix(let path, _, _, _): address = Address(unixPath: path)
    // A listener on every address answers on loopback.
    case .tcp(let host, let port):
      address = Address(literal: host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host, port: port)
    case .inherited: address = nil
    }
    guard let address, address.port != 0 || address.isUnix else {
      Terminal.error("authproxy: the configuration does not tell the address of the admin listener (fd: or port 0)")
      throw ExitCode(1)
    }
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
