import Crypto
import EventIO
import Foundation
import RedisClient
import RedisProtocol
import TLS
import Testing
import Trust

/// rediss://, under the trust policies of the configuration.
@Suite(.enabled(if: RedisServerProcess.isInstalled, "redis-server is not installed"), .timeLimit(.minutes(2)))
struct RedisTLSTests {
  private let server: RedisServerProcess
  private let port: UInt16
  private let root: Certificate
  private let rootKey: PrivateKey
  private let leaf: Certificate

  init() throws { try self.init(wantsClients: false) }

  private init(wantsClients: Bool) throws {
    rootKey = try PrivateKey.generateP256()
    root = try CertificateBuilder.authority("store's root").selfSigned(with: rootKey)
    let key = try PrivateKey.generateP256()
    leaf = try CertificateBuilder.server(["localhost"]).issued(to: key, by: root, rootKey)
    let folder = try RedisServerProcess.makeFolder()
    for (name, content) in [("ca", root.pem), ("cert", leaf.pem), ("key", try key.pem())] {
      try Data(content).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    port = try RedisServerProcess.freePort()
    server = try RedisServerProcess([
      "port 0", "tls-port \(port)", "tls-cert-file \(folder)/cert", "tls-key-file \(folder)/key",
      "tls-ca-cert-file \(folder)/ca",
      "tls-auth-clients \(wantsClients ? "yes" : "no")", TestStore.user,
    ])
    try FileManager.default.removeItem(atPath: folder)
  }

  private func trust(_ evaluators: [TrustPolicy.Evaluator] = [.chain(TrustPolicy.Validation())], root: Certificate? = nil)
    throws -> TrustMaterial
  {
    let anchors = [(root ?? self.root).der]
    return TrustMaterial(
      try TrustEvaluation(TrustPolicy(name: "store", anchors: .only(anchors), evaluators: evaluators)),
      anchors: try .certificates(anchors))
  }

  private func store(_ trust: TrustMaterial?, host: String = "localhost", identity: TLSIdentity? = nil) -> TestStore {
    TestStore(.tls(host: host, port: port)) {
      $0.trust = trust
      $0.identity = identity
    }
  }

  /// HELLO has the password.
  private var greetings: Int {
    get throws {
      let line = try server.command("INFO", "commandstats").split(separator: "\r\n").first { $0.hasPrefix("cmdstat_hello:") }
      return line == nil ? 0 : 1
    }
  }

  @Test func `a server under the own CA is trusted`() throws {
    let store = store(try trust())
    _ = try #require(store.connected())
    #expect(store.swap(nil, [1]).isSwapped)
    let record = [UInt8](repeating: 7, count: 500_000)
    #expect(store.swap([1], record).isSwapped)
    #expect(try store.read().get().record == record)
    #expect(try greetings == 1)
  }

  @Test func `who is not trusted gets no password`() throws {
    let other = try CertificateBuilder.authority("other").selfSigned(with: try PrivateKey.generateP256())
    let pins = TrustPolicy.Evaluator.pinnedPublicKeys(.init(pins: [[UInt8](repeating: 1, count: 32)]))
    let revocation = TrustPolicy.Evaluator.revocation(.init(network: false, requirePositiveResponse: true))
    let cases: [(TrustMaterial?, String, String)] = [
      (try trust(root: other), "localhost", "untrusted_root"), (try trust([pins]), "localhost", "pin_mismatch"),
      (try trust(), "127.0.0.1", "host_mismatch"), (try trust([revocation]), "localhost", "revocation_unknown"),
      (nil, "localhost", "no trust policy"),
    ]
    for (trust, host, reason) in cases {
      guard case .untrusted(let found)? = store(trust, host: host).lost() else {
        Issue.record("\(reason): trusted")
        continue
      }
      #expect(found.contains(reason), "\(found)")
    }
    #expect(try greetings == 0)
    let right = TrustPolicy.Evaluator.pinnedPublicKeys(.init(pins: [leaf.publicKeyDigest]))
    #expect(store(try trust([right])).connected() != nil)
    #expect(try greetings == 1)
  }

  @Test func `nothing is said while the verdict is waited for, and again when it has ended`() throws {
    let held = Monitor<[@Sendable (Result<Int64, TrustRefusal>) -> Void]>([])
    var settings = RedisSettings(.server(.tls(host: "localhost", port: port)))
    settings.login = TestStore.login
    settings.trust = try trust()
    settings.timeout = 1_500
    let store = TestStore(settings) { _, done in
      // SAFETY: it is called on the loop that it came from, only.
      nonisolated(unsafe) let done = done
      held.change { $0.append { done($0) } }
    }
    let first = try #require(held.wait { $0.first })
    // Waiting for a verdict does not count as connecting: with twice the time-out somebody else's time is over.
    let silent = try ScriptedServer { $0.awaitEnd() }
    #expect(TestStore(silent.address, timeout: 3_000).lost() == .connectTimeout(milliseconds: 3_000))
    #expect(try greetings == 0)
    #expect(store.count == 0)
    store.executor.call { _ in first(.success(wallClockSeconds() + 2)) }
    _ = try #require(store.connected())
    #expect(try store.read().get().record == nil)
    // The verdict has ended, and the next command waits for another one.
    let failures = Monitor<[RedisOperationFailure]>([])
    let asksAgain = try eventually {
      store.on {
        $0.read(Array("authproxy:one".utf8)) { result in
          if let failure = result.failure { failures.change { $0.append(failure) } }
        }
      }
      return held.change { $0.count == 2 }
    }
    #expect(asksAgain)
    let second = try #require(held.change { $0.last })
    store.executor.call { _ in
      second(.failure(TrustRefusal(evaluator: "test", reason: .revoked, detail: "revoked meanwhile")))
    }
    let failure = try #require(failures.wait { $0.first })
    #expect(failure.reason == .untrusted("test: revoked: revoked meanwhile"))
    #expect(store.lost() == failure.reason)
  }

  @Test func `a server that wants a client certificate gets the configured one`() throws {
    let world = try RedisTLSTests(wantsClients: true)
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder(commonName: "authproxy")
    builder.purposes = [.clientAuth]
    let identity = try TLSIdentity(chain: [try builder.issued(to: key, by: world.root, world.rootKey)], key: key)
    let trust = try world.trust()
    #expect(world.store(trust, identity: identity).connected() != nil)
    guard case .unreachable(let reason)? = world.store(trust).lost() else {
      Issue.record("it was let in")
      return
    }
    #expect(reason.contains("certificate"), "\(reason)")
  }

  @Test func `clear text to a TLS port, and TLS to a clear one, are told`() throws {
    let clear = TestStore(.tcp(host: "localhost", port: port), timeout: 2_000)
    _ = try #require(clear.lost())
    let plainPort = try RedisServerProcess.freePort()
    let plain = try RedisServerProcess(["port \(plainPort)", TestStore.user])
    let trust = try trust()
    let store = TestStore(.tls(host: "localhost", port: plainPort), timeout: 2_000) { $0.trust = trust }
    // It takes the ClientHello for the beginning of a command, and may wait for more.
    switch try #require(store.lost()) {
    case .unreachable, .connectTimeout: break
    case let other: Issue.record("\(other)")
    }
    withExtendedLifetime(plain) {}
  }
}
