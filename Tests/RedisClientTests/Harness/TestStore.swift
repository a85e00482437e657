import Crypto
import EventIO
import Foundation
import RedisClient
import RedisProtocol
import Trust

/// A client on a loop of its own, asked from the test's thread.
final class TestStore: Sendable {
  typealias Reading = Result<RedisReading, RedisOperationFailure>
  typealias Swap = Result<RedisSwapResult, RedisOperationFailure>

  let executor = LoopExecutor()
  let events = Monitor<[RedisClient.Event]>([])
  /// The ACL rules that the documentation says suffice.
  static let rules =
    "~authproxy:* &authproxy:* -@all +@connection +get +set +del +eval +time +publish +subscribe +unsubscribe +wait +pubsub|numsub"
  static let password = "5ecret"
  static let login = RedisLogin(user: "authproxy", password: Array(password.utf8))
  /// A line of a server's configuration.
  static let user = "user authproxy on >\(password) \(rules)"

  /// Judges revocation with no answers at all.
  static let gate: @Sendable (RevocationCheck, @escaping (Result<Int64, TrustRefusal>) -> Void) -> Void = { check, done in
    var check = check
    switch check.next(RevocationCache(), now: wallClockSeconds()) {
    case .trusted(let until): done(.success(until))
    case .refused(let refusal): done(.failure(refusal))
    case .fetch: done(.failure(TrustRefusal(evaluator: "test", reason: .revocationUnknown, detail: "nothing is fetched")))
    }
  }

  init(
    _ settings: RedisSettings,
    gate: @escaping @Sendable (RevocationCheck, @escaping (Result<Int64, TrustRefusal>) -> Void) -> Void = TestStore.gate
  ) {
    executor.start()
    executor.call { [events] loop in
      let client = RedisClient(settings, on: loop, gate: gate, chance: { 0.5 }) { event in events.change { $0.append(event) } }
      loop.install(client)
      client.start()
    }
  }

  convenience init(
    _ address: RedisAddress, login: RedisLogin? = login, timeout: Int = 10_000,
    _ adjust: (inout RedisSettings) -> Void = { _ in }
  ) {
    var settings = RedisSettings(.server(address))
    settings.login = login
    settings.timeout = timeout
    adjust(&settings)
    self.init(settings)
  }

  deinit { executor.call { $0.resident(RedisClient.self).stop() } }

  func on(_ body: @escaping @Sendable (RedisClient) -> Void) { executor.call { body($0.resident(RedisClient.self)) } }

  func read(_ key: String = "authproxy:one") -> Reading {
    let handover = Handover<Reading>()
    on { $0.read(Array(key.utf8)) { handover.put($0) } }
    return handover.take(within: 60_000) ?? .failure(RedisOperationFailure(.stopped))
  }

  func swap(
    _ expected: [UInt8]?, _ replacement: [UInt8]?, key: String = "authproxy:one", life: Int64? = nil, replicas: Int = 0
  ) -> Swap {
    let handover = Handover<Swap>()
    on {
      $0.compareAndSet(
        Array(key.utf8), expected: expected, replacement: replacement, expiresAfter: life, replicas: replicas
      ) { handover.put($0) }
    }
    return handover.take(within: 60_000) ?? .failure(RedisOperationFailure(.stopped))
  }

  /// The first event from number `start` on that `fits`.
  func await(from start: Int = 0, seconds: Double = 20, _ fits: (RedisClient.Event) -> Bool) -> RedisClient.Event? {
    events.wait(seconds) { $0.dropFirst(start).first(where: fits) }
  }

  func connected(from start: Int = 0) -> RedisServer? {
    guard case .connected(let server)? = self.await(from: start, { if case .connected = $0 { true } else { false } }) else {
      return nil
    }
    return server
  }

  func lost(from start: Int = 0) -> RedisFailure? {
    guard case .lost(let failure)? = self.await(from: start, { if case .lost = $0 { true } else { false } }) else { return nil }
    return failure
  }

  var losses: Int { events.change { $0.count { if case .lost = $0 { true } else { false } } } }
  var count: Int { events.change { $0.count } }
}

extension Result where Failure == RedisOperationFailure {
  var failure: RedisOperationFailure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension Result<RedisSwapResult, RedisOperationFailure> {
  var isSwapped: Bool { if case .success(.swapped) = self { true } else { false } }
  var acknowledged: Int? { if case .success(.swapped(_, let count, _)) = self { count } else { nil } }
}
