import Credentials
import EventIO
import Foundation
import KubernetesStore
import Trust

/// An engine on a loop of its own, asked from the test's thread.
final class TestEngine: Sendable {
  typealias Reply = SealedRecord.Reply

  private let executor = LoopExecutor()
  let events = Monitor<[RecordEngineEvent]>([])
  private let reads = Monitor(0)

  init(_ server: APIServerProcess, timeout: Int = 20_000, trust: TrustMaterial? = nil, host: String = "127.0.0.1") {
    executor.start()
    let path = server.folder + "/token"
    var settings = KubernetesSettings(
      server: "\(trust == nil ? "http" : "https")://\(host):\(server.port)", namespace: "apps", secret: "tokens"
    ) { [reads] in
      reads.change { $0 += 1 }
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        return .failure(TokenUnreadable("\(path): no such file"))
      }
      return .success(Secret(text))
    }
    settings.timeout = timeout
    executor.call { [events, settings] loop in
      let engine = KubernetesEngine(settings, on: loop, under: trust, gate: nil, chance: { 0.1 }) { event in
        events.change { $0.append(event) }
      }
      loop.install(engine)
      engine.start()
    }
  }

  deinit { stop() }

  func stop() { executor.call { $0.resident(KubernetesEngine.self).stop() } }

  /// How often the token's file was read.
  var tokenReads: Int { reads.change { $0 } }

  func perform(_ command: SealedRecord.Command) -> Reply {
    let handover = Handover<Reply>()
    begin(command) { handover.put($0) }
    return handover.take(within: 60_000) ?? .failed("no reply within a minute")
  }

  func begin(_ command: SealedRecord.Command, deliver: @escaping @Sendable (Reply) -> Void) {
    executor.call { $0.resident(KubernetesEngine.self).perform(command, deliver: deliver) }
  }

  func read(_ key: String = "one.x") -> Reply { perform(.read(key: key)) }

  func swap(_ expected: String?, _ new: String, key: String = "one.x") -> Reply { perform(Self.swap(expected, new, key: key)) }

  static func swap(_ expected: String?, _ new: String, key: String = "one.x") -> SealedRecord.Command {
    .compareAndSet(
      key: key, expected: expected.map { Array($0.utf8) }, new: Array(new.utf8), expiresAfter: nil, awaitsReplicas: false)
  }

  /// Waits for an event after the first `start`.
  func await(from start: Int = 0, seconds: Double = 30, _ fits: (RecordEngineEvent) -> Bool) -> RecordEngineEvent? {
    events.wait(seconds) { $0.dropFirst(start).first(where: fits) }
  }

  @discardableResult
  func connected(from start: Int = 0) -> Bool { self.await(from: start) { $0 == .connected } != nil }

  func lost(from start: Int = 0) -> String? {
    let event = self.await(from: start) { if case .lost = $0 { true } else { false } }
    return if case .lost(let why)? = event { why } else { nil }
  }

  var count: Int { events.change { $0.count } }
}

extension SealedRecord.Reply {
  /// Of a reading.
  var value: String? { if case .value(let bytes?, _) = self { String(decoding: bytes, as: UTF8.self) } else { nil } }
  var isAbsent: Bool { if case .value(nil, _) = self { true } else { false } }
  var isStored: Bool { if case .stored = self { true } else { false } }
  /// What stands instead.
  var conflict: String?? {
    if case .conflict(let bytes, _) = self { .some(bytes.map { String(decoding: $0, as: UTF8.self) }) } else { nil }
  }
  var failure: String? { if case .failed(let why) = self { why } else { nil } }
  var clock: Int64? {
    switch self {
    case .value(_, let clock), .stored(_, let clock), .conflict(_, let clock): clock
    case .failed: nil
    }
  }
}
