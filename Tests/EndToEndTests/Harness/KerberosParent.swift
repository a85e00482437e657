import Foundation

/// A parent proxy that authenticates by SPNEGO: see Tests/Support/kerberos/parent.py.
final class KerberosParent {
  struct Use: Decodable {
    let connection, status, token: Int
    let method, target, user: String
  }
  private struct State: Decodable { let uses: [Use] }

  let realm: KerberosRealm
  let port: Int
  private let child: ChildProcess

  init(_ realm: KerberosRealm) throws {
    self.realm = realm
    child = try ChildProcess(
      KerberosRealm.python, [Surroundings.support + "/kerberos/parent.py", realm.serviceKeytab], environment: realm.environment)
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("parent.py: \(child.errors)")
    }
    self.port = port
  }

  deinit { child.closeInput() }

  /// What came since the last call.
  /// - Parameter settings: JSON; the keys are parent.py's.
  @discardableResult
  func set(_ settings: String) throws -> [Use] {
    let got = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-d", settings, "http://127.0.0.1:\(port)/-/set"])
    guard let state = try? JSONDecoder().decode(State.self, from: Data(got.output.utf8)) else {
      throw HarnessError("parent.py: \(got.output)\(got.errors)\(child.errors)")
    }
    return state.uses
  }
}
