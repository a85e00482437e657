import EventIO
import RESP
import RedisProtocol

/// Asks one Sentinel for the primary, over a connection of its own.
final class SentinelQuestion {
  let sentinel: RedisAddress
  private let name: String
  private var connection: RedisConnection?
  private var answer: ((Result<RedisAddress, RedisFailure>) -> Void)?

  /// - Parameter answer: called once.
  init(
    _ sentinel: RedisAddress, name: String, login: RedisLogin?, _ security: RedisSecurity, timeout: Int, on loop: EventLoop,
    answer: @escaping (Result<RedisAddress, RedisFailure>) -> Void
  ) {
    self.sentinel = sentinel
    self.name = name
    self.answer = answer
    let session = RedisSession(.sentinel, login: login, timeout: timeout)
    connection = RedisConnection(to: sentinel, session, security, timeout: timeout, on: loop) { [unowned self] in
      self.happened($0)
    }
  }

  /// May answer before it returns.
  func start() { connection?.start() }

  func cancel() {
    answer = nil
    connection?.close()
    connection = nil
  }

  private func happened(_ event: RedisSession.Event) {
    switch event {
    case .ready: _ = connection?.send(.primary(of: name))
    case .replied(_, let value): finish(read(value))
    case .refused(_, let refusal): finish(.failure(.refused(refusal)))
    case .ended(let failure): finish(.failure(failure))
    case .changed: break
    }
  }

  private func read(_ value: RESPValue) -> Result<RedisAddress, RedisFailure> {
    do throws(RedisFailure) {
      guard let node = try value.primaryAddress() else { throw .primaryUnknown(name: name) }
      guard let address = sentinel.other(host: node.host, port: node.port) else { throw .unexpectedReply }
      return .success(address)
    } catch {
      return .failure(error)
    }
  }

  private func finish(_ result: Result<RedisAddress, RedisFailure>) {
    let answer = answer
    cancel()
    answer?(result)
  }
}
