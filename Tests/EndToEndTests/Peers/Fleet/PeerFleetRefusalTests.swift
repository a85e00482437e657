import Foundation
import Testing

/// A store that does not let the fleet in, or does not take its records: nothing is spent, and the answer says why.
@Suite(.enabled(if: RedisServer.isInstalled)) struct PeerFleetRefusalTests {
  private static let refreshToken = ["grant: refresh_token", "refresh_token: first-5ecret-refresh"]
  private static let acl = "~authproxy:* &authproxy:* -@all +@connection +get +set +del +time +publish +subscribe"

  private struct Case: CustomStringConvertible {
    let description: String
    let server: [String]
    var store = ""
    let words: [String]
  }

  @Test func `the reason is in the answer, in the log and in the status, and no token request is made`() throws {
    each([
      Case(description: "no login", server: ["requirepass hidden-5ecret"], words: ["NOAUTH"]),
      Case(
        description: "another password", server: ["user authproxy on >right-5ecret \(Self.acl)"],
        store: "username: authproxy, password: wrong-5ecret", words: ["WRONGPASS"]),
      Case(
        description: "a user without EVAL", server: ["user authproxy on >right-5ecret \(Self.acl)"],
        store: "username: authproxy, password: right-5ecret", words: ["NOPERM"]),
      Case(description: "a full server", server: ["maxmemory 1", "maxmemory-policy noeviction"], words: ["OOM"]),
      Case(description: "a replica", server: ["replicaof 127.0.0.1 1"], words: ["replica"]),
      Case(description: "a cluster without slots", server: ["cluster-enabled yes"], words: ["CLUSTERDOWN"]),
    ]) { one in
      let fleet = try Fleet(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#, redis: one.server)
      defer { fleet.stop() }
      let proxy = try fleet.start(try fleet.configuration(Self.refreshToken, store: one.store))
      let answer = try proxy.ask(fleet.server.url())
      #expect(answer.status == 503, "\(one): \(answer.head)\(proxy.tail)")
      #expect(answer.head.contains("details=\"credential api: "), "\(one): \(answer.head)")
      for word in one.words { #expect(answer.head.contains(word), "\(one): \(answer.head)") }
      #expect(!answer.all("Retry-After").isEmpty)
      #expect(try proxy.admin("readyz").status == 200)
      let status = try proxy.admin("status").text
      #expect(!status.contains(Configuration.secretMark), "\(status)")
      #expect(try fleet.server.state().requests.isEmpty, "\(one)")
    }
  }

  @Test func `another CA, and another key than the pinned one, get neither login nor record`() throws {
    let pki = try Surroundings.pki()
    let server = [
      "port 0", "tls-cert-file \(pki)/good.pem", "tls-key-file \(pki)/good.key", "tls-ca-cert-file \(pki)/ca.pem",
      "tls-auth-clients no",
    ]
    let pin = "\"sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\""
    each([
      ("{ca_file: \(pki)/ca.pem, system_roots: false}", "", nil),
      ("{ca_file: \(pki)/self-signed.pem, system_roots: false}", "", "untrusted_root"),
      ("{ca_file: \(pki)/ca.pem, system_roots: false}", "\n    - pinned_public_keys: {pins: [\(pin)]}", "pin_mismatch"),
    ]) { (store, more, reason: String?) in
      let port = try ReservedPort()
      let fleet = try Fleet(
        #"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#, redis: server + ["tls-port \(port.port)"])
      defer { fleet.stop() }
      let trust = """
        trust:
          default:
            - default: {ca_file: \(pki)/ca.pem, system_roots: false}
          store:
            - default: \(store)\(more)
        """
      let proxy = try fleet.start(
        try fleet.configuration(
          Self.refreshToken, address: "rediss://localhost:\(port.port)", store: "trust: store", top: trust))
      let answer = try proxy.ask(fleet.server.url())
      #expect(answer.status == (reason == nil ? 200 : 503), "\(answer.head)\(proxy.tail)")
      if let reason { #expect(answer.head.contains(reason), "\(answer.head)") }
      #expect(try fleet.server.state().requests.count == (reason == nil ? 1 : 0))
    }
  }
}
