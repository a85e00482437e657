import Crypto
import EventIO
import Fetch
import Glibc
import SmallHTTP
import TLS
import Testing
import Trust

/// libcurl driven by a loop, with a real server on loopback.
@Suite(.timeLimit(.minutes(1))) struct FetchTests {
  private static func server(
    identity: TLSIdentity? = nil, service: @escaping @Sendable (ServedRequest, @escaping HTTPServer.Reply) -> Void
  ) throws -> Address {
    let socket = try ListeningSocket(binding: try #require(Address(literal: "127.0.0.1", port: 0)))
    try socket.listen()
    let executor = LoopExecutor()
    executor.start()
    executor.call { loop in
      let context = identity.flatMap { try? TLSContext.server(ServerOptions(identity: $0)) }
      HTTPServer(on: loop, socket: socket, context: context, service: service)
    }
    return socket.address
  }

  private static func outcome(
    under trust: TrustMaterial? = nil, _ fetch: @escaping @Sendable () -> HTTPFetch
  ) -> HTTPFetch.Outcome {
    let (executor, handover) = (LoopExecutor(), Handover<HTTPFetch.Outcome>())
    executor.start()
    executor.call { loop in
      let client = FetchClient(loop: loop)
      client.start(fetch(), under: trust) { outcome in
        handover.put(outcome)
        withExtendedLifetime(client) {}
      }
    }
    return handover.take()
  }

  @Test func `method, path, fields and body arrive, and status, body and Retry-After come back`() throws {
    let address = try Self.server { request, reply in
      let text =
        "\(request.method) \(request.target) \(request["x-one"] ?? "") [\(String(decoding: request.body, as: UTF8.self))]"
      reply(ServedAnswer(503, text: text, fields: [("Retry-After", "7")]))
    }
    let answer = try Self.outcome {
      HTTPFetch(
        method: .post, url: "http://\(address)/token?a=b", fields: [("X-One", Array("1".utf8))], body: Array("c=d".utf8),
        timeout: 10_000, limitBytes: 1_000)
    }.get()
    #expect(answer.status == 503)
    #expect(answer.retryAfter == 7)
    #expect(String(decoding: answer.body, as: UTF8.self) == "POST /token?a=b 1 [c=d]")
  }

  @Test func `a redirect is an answer like any other`() throws {
    let address = try Self.server { request, reply in
      reply(
        request.target == "/" ? ServedAnswer(302, text: "", fields: [("Location", "/next")]) : ServedAnswer(200, text: "next"))
    }
    let answer = try Self.outcome { HTTPFetch(url: "http://\(address)/", timeout: 10_000, limitBytes: 1_000) }.get()
    #expect(answer.status == 302)
    #expect(answer.retryAfter == nil)
  }

  @Test func `an answer as long as the limit is taken, a longer one is not`() throws {
    let address = try Self.server { _, reply in reply(ServedAnswer(200, text: String(repeating: "x", count: 1_000))) }
    #expect(
      try Self.outcome { HTTPFetch(url: "http://\(address)/", timeout: 10_000, limitBytes: 1_000) }.get().body.count == 1_000)
    guard case .failure(.tooLarge) = Self.outcome({ HTTPFetch(url: "http://\(address)/", timeout: 10_000, limitBytes: 999) })
    else {
      Issue.record("it was taken")
      return
    }
  }

  @Test func `a server that never answers, one that is not there, and one that may not be asked are told apart`() throws {
    let silent = try Self.server { _, _ in }
    let gone = try ListeningSocket(binding: try #require(Address(literal: "127.0.0.1", port: 0)))
    let nobody = gone.address
    gone.close()
    let outcomes = [
      Self.outcome { HTTPFetch(url: "http://\(silent)/", timeout: 100, limitBytes: 1_000) },
      Self.outcome { HTTPFetch(url: "http://\(nobody)/", timeout: 10_000, limitBytes: 1_000) },
      Self.outcome { HTTPFetch(url: "http://\(silent)/", timeout: 10_000, limitBytes: 1_000, permits: { _ in false }) },
    ]
    guard case .failure(.timedOut) = outcomes[0], case .failure(.unreachable) = outcomes[1],
      case .failure(.addressForbidden) = outcomes[2]
    else {
      Issue.record("\(outcomes)")
      return
    }
  }

  @Test func `an answer that came while the whole process was held up is read, however late`() throws {
    let (executor, handover, held) = (LoopExecutor(), Handover<HTTPFetch.Outcome>(), Handover<Bool>())
    // It answers once the client's loop does nothing any more.
    let address = try Self.server { _, reply in
      executor.call { _ in
        held.put(true)
        sleep(2)
      }
      _ = held.take()
      reply(ServedAnswer(200, text: "late"))
    }
    executor.start()
    executor.call { loop in
      let client = FetchClient(loop: loop)
      client.start(HTTPFetch(url: "http://\(address)/", timeout: 400, limitBytes: 1_000), under: nil) { outcome in
        handover.put(outcome)
        withExtendedLifetime(client) {}
      }
    }
    #expect(try handover.take().get().status == 200)
  }

  @Test func `one that is cancelled tells nothing, and the next one works`() throws {
    let address = try Self.server { request, reply in if request.target == "/next" { reply(ServedAnswer(200, text: "next")) } }
    let (executor, handover) = (LoopExecutor(), Handover<HTTPFetch.Outcome>())
    executor.start()
    executor.call { loop in
      let client = FetchClient(loop: loop)
      let first = client.start(HTTPFetch(url: "http://\(address)/first", timeout: 200, limitBytes: 1_000), under: nil) { _ in
        Issue.record("it was cancelled")
      }
      first.cancel()
      client.start(HTTPFetch(url: "http://\(address)/next", timeout: 10_000, limitBytes: 1_000), under: nil) { outcome in
        handover.put(outcome)
        withExtendedLifetime(client) {}
      }
    }
    #expect(try handover.take().get().status == 200)
  }

  @Test func `an https server is judged by the policy, and not asked without one`() throws {
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder.authority("here")
    builder.purposes = [.serverAuth]
    builder.addresses = ["127.0.0.1"]
    let certificate = try builder.selfSigned(with: key)
    let identity = try TLSIdentity(chain: [certificate], key: key)
    let address = try Self.server(identity: identity) { _, reply in reply(ServedAnswer(200, text: "secret")) }
    func outcome(over anchors: [[UInt8]]) throws -> HTTPFetch.Outcome {
      let policy = TrustPolicy(name: "test", anchors: .only(anchors), evaluators: [.chain(TrustPolicy.Validation())])
      let trust = TrustMaterial(try TrustEvaluation(policy), anchors: try .certificates(anchors))
      return Self.outcome(under: trust) { HTTPFetch(url: "https://\(address)/", timeout: 10_000, limitBytes: 1_000) }
    }
    #expect(try outcome(over: [certificate.der]).get().status == 200)
    let other = try CertificateBuilder.authority("elsewhere").selfSigned(with: try .generateP256())
    let outcomes = [
      try outcome(over: [other.der]),
      Self.outcome { HTTPFetch(url: "https://\(address)/", timeout: 10_000, limitBytes: 1_000) },
    ]
    guard case .failure(.untrusted) = outcomes[0], case .failure(.malformed) = outcomes[1] else {
      Issue.record("\(outcomes)")
      return
    }
  }
}
