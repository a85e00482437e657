import Crypto
import EventIO
import Fetch
import SmallHTTP
import TLS
import Testing
import Trust

/// Clients with certificates of their own at one server, over one client of libcurl.
@Suite(.timeLimit(.minutes(1))) struct FetchCertificateTests {
  private let server: TLSIdentity
  private let one: TLSIdentity
  private let two: TLSIdentity

  init() throws {
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder.authority("server")
    builder.purposes = [.serverAuth]
    builder.addresses = ["127.0.0.1"]
    server = try TLSIdentity(chain: [builder.selfSigned(with: key)], key: key)
    (one, two) = (try Self.client("one"), try Self.client("two"))
  }

  private static func client(_ name: String) throws -> TLSIdentity {
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder.authority(name)
    builder.purposes = [.clientAuth]
    return try TLSIdentity(chain: [builder.selfSigned(with: key)], key: key)
  }

  /// A server that demands `one`.
  private func start(_ maximum: ProtocolVersion) throws -> Address {
    let socket = try ListeningSocket(binding: try #require(Address(literal: "127.0.0.1", port: 0)))
    try socket.listen()
    let (server, anchors) = (server, [one.chain[0].der])
    let executor = LoopExecutor()
    executor.start()
    executor.call { loop in
      var options = ServerOptions(identity: server)
      options.maximumVersion = maximum
      options.clientAnchors = try? AnchorStore.certificates(anchors)
      guard options.clientAnchors != nil else { return }
      HTTPServer(on: loop, socket: socket, context: try? TLSContext.server(options)) { _, reply in
        reply(ServedAnswer(200, text: "one"))
      }
    }
    return socket.address
  }

  /// What each of these clients gets, one after the other.
  private func outcomes(at address: Address, _ identities: [TLSIdentity?]) throws -> [HTTPFetch.Outcome] {
    let policy = TrustPolicy(
      name: "test", anchors: .only([server.chain[0].der]), evaluators: [.chain(TrustPolicy.Validation())])
    let trust = TrustMaterial(
      try TrustEvaluation(policy), anchors: try .certificates([server.chain[0].der]))
    let (executor, handover) = (LoopExecutor(), Handover<[HTTPFetch.Outcome]>())
    executor.start()
    executor.call { loop in
      let client = FetchClient(loop: loop)
      func next(_ found: [HTTPFetch.Outcome]) {
        guard found.count < identities.count else {
          handover.put(found)
          return withExtendedLifetime(client) {}
        }
        let fetch = HTTPFetch(url: "https://\(address)/", timeout: 10_000, limitBytes: 1_000)
        client.start(fetch, under: trust, with: identities[found.count]) { next(found + [$0]) }
      }
      next([])
    }
    return handover.take()
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `no client gets a connection that another one's certificate opened`(version: ProtocolVersion) throws {
    let address = try start(version)
    let identities = [one, two, one, nil, one, two, nil]
    let found = try outcomes(at: address, identities)
    for (identity, outcome) in zip(identities, found) {
      switch outcome {
      case .success(let answer):
        #expect(identity === one)
        #expect(answer.status == 200)
      case .failure(.unreachable(let why)):
        #expect(identity !== one)
        let reason =
          identity == nil ? "it asked for a client certificate, and there is none" : "it asked for the client certificate"
        #expect(why.contains(reason), "\(why)")
      case .failure(let failure): Issue.record("\(failure)")
      }
    }
  }
}
