import Foundation

/// docker/kubernetes.
enum Manifests {
  static let folder = Surroundings.root + "/docker/kubernetes"
  static let patterns = ["sidecar", "gateway", "node"]
  static let stores = ["store-redis", "store-kubernetes"]

  static func text(_ path: String) throws -> String { try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8) }

  /// proxy.conf of a pattern, with the section of a store in its place; nil: as it is.
  static func configuration(_ pattern: String, _ store: String?) throws -> String {
    var parts = try text("\(pattern)/proxy.conf").components(separatedBy: "#<store>#")
    guard parts.count == 3 else { throw HarnessError("\(pattern)/proxy.conf has \(parts.count - 1) marks") }
    if let store {
      let section = try text("\(store)/section.yaml").split(separator: /section: \|2?\n/)
      guard section.count == 2 else { throw HarnessError("\(store)/section.yaml has no section") }
      parts[1] = section[1].components(separatedBy: "\n").map { String($0.dropFirst(4)) }.joined(separator: "\n")
    }
    return parts.joined(separator: "#<store>#")
  }

  /// What `authproxy check` finds in a configuration of a pod, with files of this test for its secrets.
  static func check(_ configuration: String) throws -> ChildProcess.Finished {
    let folder = try Surroundings.newFolder()
    try Authority.create(folder + "/ca", for: "valkey.valkey.svc")
    let secrets = configuration.replacing(#//run/secrets/(?:[\w.-]+/)*([\w.-]+)/#) { "\(folder)/\($0.1)" }
    for name in ["client_secret", "client_billing", "password", "api_client_secret", "store_password"] {
      try ProxyProcess.write("a secret\n", to: "\(folder)/\(name)")
    }
    for name in ["key", "store_key"] {
      try ProxyProcess.write(Data(repeating: 7, count: 32).base64EncodedString() + "\n", to: "\(folder)/\(name)")
    }
    try ProxyProcess.write(try Authority.content(folder + "/ca/issuer.pem"), to: folder + "/ca.crt")
    try ProxyProcess.write(secrets, to: folder + "/proxy.conf")
    return try ChildProcess.run(Surroundings.program, ["check", "--config", folder + "/proxy.conf"])
  }
}
