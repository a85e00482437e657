import Credentials
import EventIO
import RedisClient
import RedisProtocol

/// Redis or Valkey as a fleet's store. Confined to its loop.
final class RedisEngine: RecordEngine {
  private let client: RedisClient
  /// From how many an acknowledgement is waited for, where a command wants that.
  private let replicas: Int
  var readers: Int? { client.subscribers }

  var hasUnsaved: Bool {
    get { client.hasUnsaved }
    set { client.hasUnsaved = newValue }
  }

  init(
    _ settings: RedisSettings, replicas: Int, on loop: EventLoop, gate: @escaping RevocationGate,
    report: @escaping (RecordEngineEvent) -> Void
  ) {
    self.replicas = replicas
    client = RedisClient(settings, on: loop, gate: gate) { event in
      switch event {
      case .connected: report(.connected)
      case .lost(let failure): report(.lost("\(failure)"))
      case .changed(let key): report(.changed(key: String(decoding: key, as: UTF8.self)))
      }
    }
  }

  func start() { client.start() }
  func stop() { client.stop() }

  func perform(_ command: SealedRecord.Command, deliver: @escaping (SealedRecord.Reply) -> Void) {
    switch command {
    case .read(let key):
      client.read(Array(key.utf8)) { result in
        switch result {
        case .success(let reading): deliver(.value(reading.record, clock: reading.time.milliseconds))
        case .failure(let failure): deliver(.failed("\(failure)"))
        }
      }
    case .compareAndSet(let key, let expected, let new, let life, let awaitsReplicas):
      client.compareAndSet(
        Array(key.utf8), expected: expected, replacement: new, expiresAfter: life, replicas: awaitsReplicas ? replicas : 0
      ) { result in
        switch result {
        case .success(.swapped(let time, let acknowledged, lacking: _)):
          deliver(.stored(acknowledgements: acknowledged, clock: time.milliseconds))
        case .success(.differs(let reading)): deliver(.conflict(reading.record, clock: reading.time.milliseconds))
        case .failure(let failure): deliver(.failed("\(failure)"))
        }
      }
    }
  }
}

extension RedisTime {
  fileprivate var milliseconds: Int64 { microseconds / 1_000 }
}
