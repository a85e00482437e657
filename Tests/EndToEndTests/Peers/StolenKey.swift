import Foundation

/// The key of a CA that may sign for a few hosts, and what its thief signs and serves with it.
struct StolenKey {
  let folder: String
  /// A leaf each: whom it claims to be, and its port.
  let servers: [(name: String, port: Int)]
  private let server: ChildProcess

  /// - Parameters:
  ///   - permits: hosts and addresses that the CA is made for.
  ///   - leafs: subject alternative names in OpenSSL's notation; the leaf is taken for the last one.
  init(permits: [String], leafs: [String]) throws {
    folder = try Surroundings.newFolder()
    let made = try ChildProcess.run(
      Surroundings.program, ["ca", "create", "--out", folder + "/ca"] + permits.flatMap { ["--permit", $0] })
    guard made.status == .exited(0) else { throw HarnessError(made.errors) }
    var files: [String] = []
    for (number, names) in leafs.enumerated() {
      let signed = try ChildProcess.run(
        "sh",
        [
          "-ec",
          """
          openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj / -keyout $1.key -out $1.csr
          cat > $1.ext <<END
          subjectAltName = critical, $2
          extendedKeyUsage = serverAuth
          keyUsage = critical, digitalSignature
          basicConstraints = critical, CA:FALSE
          subjectKeyIdentifier = hash
          authorityKeyIdentifier = keyid
          END
          openssl x509 -req -in $1.csr -CA ca/issuer.pem -CAkey ca/issuer.key -days 2 -extfile $1.ext -out $1.pem
          openssl x509 -in ca/issuer.pem >> $1.pem
          """, "sh", "\(number)", names,
        ], folder: folder)
      guard signed.status == .exited(0) else { throw HarnessError(signed.errors) }
      files += ["\(folder)/\(number).pem", "\(folder)/\(number).key"]
    }
    server = try ChildProcess(Surroundings.python, [Surroundings.support + "/leaf_server.py"] + files)
    guard let line = server.awaitLine(where: { _ in true }) else { throw HarnessError("no server: \(server.errors)") }
    let ports = try JSONDecoder().decode([Int].self, from: Data(line.utf8))
    servers = zip(leafs, ports).map { names, port in
      let last = names.split(separator: ",").last ?? ""
      return (String(last.drop { $0 != ":" }.dropFirst()), port)
    }
  }

  /// What a client says of each server. In its command `$ROOTS` is the file of the CA, and `$STORE` the same for Java.
  func judged(by command: String) throws -> [String] {
    let store = folder + "/store.p12"
    let words = servers.flatMap { [$0.name, "\($0.port)"] }
    let said = try Peer.sh("ROOTS='\(folder)/ca/ca.pem' STORE='\(store)'; export ROOTS STORE\n" + command, words)
    let lines = said.output.split(separator: "\n").map(String.init)
    guard lines.count == servers.count else { throw HarnessError("\(said.output)\(said.errors)") }
    return lines
  }
}
