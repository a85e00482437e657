import ArgumentParser
import ConfigurationFile
import EventIO
import Settings

/// Where the admin listener of a running proxy is.
enum AdminListener {
  /// - Parameter config: path of its configuration file.
  /// - Throws: the exit status 1, after saying why it is unknown.
  static func address(_ config: String) throws -> Address {
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
    return address
  }
}
