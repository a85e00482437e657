import RESP
import RedisProtocol

/// Why an operation has no result.
public struct RedisOperationFailure: Error, Sendable, Hashable, CustomStringConvertible {
  public let reason: RedisFailure
  /// The server may have done it all the same: a write whose reply is lost. Read the record to find out.
  public let mayBeDone: Bool

  public init(_ reason: RedisFailure, mayBeDone: Bool = false) {
    self.reason = reason
    self.mayBeDone = mayBeDone
  }

  public var description: String { "\(reason)" }
}

/// What a compare-and-set came to.
public enum RedisSwapResult: Sendable, Hashable {
  /// - Parameters:
  ///   - acknowledged: how many replicas have it; 0 if nobody wanted to know.
  ///   - lacking: why they could not be counted.
  case swapped(RedisTime, acknowledged: Int, lacking: RedisFailure?)
  /// Nothing was written. The record is this.
  case differs(RedisReading)
}

/// A read or a write of one record on its way through one connection or, redirected, several.
final class RedisOperation {
  enum Delivery {
    case read((Result<RedisReading, RedisOperationFailure>) -> Void)
    case swap(replicas: Int, (Result<RedisSwapResult, RedisOperationFailure>) -> Void)
  }

  enum Next {
    case done
    /// Its command is another one now, for the same connection.
    case send
    /// It has failed, as the reply is not one to its command: nor may the next ones be.
    case mismatch
  }

  let key: [UInt8]
  /// Milliseconds that replicas get to acknowledge a write: less than the time in which the reply must be there.
  private let patience: Int
  private(set) var command: RESPCommand
  private let delivery: Delivery
  /// Until when it may wait for a connection, in nanoseconds of the loop's clock.
  var deadline: Int64 = 0
  var redirections = 0
  /// It is written; its acknowledgements are counted.
  private var swapped: RedisTime?

  init(_ key: [UInt8], _ command: RESPCommand, timeout: Int, _ delivery: Delivery) {
    self.key = key
    self.command = command
    self.delivery = delivery
    patience = max(timeout / 2, 1)
  }

  func take(_ value: RESPValue) -> Next {
    do throws(RedisFailure) {
      switch delivery {
      case .read(let deliver): deliver(.success(try RedisReading(value)))
      case .swap(let replicas, let deliver):
        if let swapped {
          deliver(.success(.swapped(swapped, acknowledged: try value.acknowledgements(), lacking: nil)))
          return .done
        }
        switch try RedisSwap(value) {
        case .differs(let reading): deliver(.success(.differs(reading)))
        case .swapped(let time):
          guard replicas > 0 else {
            deliver(.success(.swapped(time, acknowledged: 0, lacking: nil)))
            return .done
          }
          swapped = time
          command = .wait(replicas: replicas, milliseconds: patience)
          return .send
        }
      }
    } catch {
      fail(error, wasSent: true)
      return .mismatch
    }
    return .done
  }

  /// - Parameter wasSent: and its reply did not come. An error that the server replied means that nothing was done.
  func fail(_ reason: RedisFailure, wasSent: Bool = false) {
    switch delivery {
    case .read(let deliver): deliver(.failure(RedisOperationFailure(reason)))
    case .swap(_, let deliver):
      if let swapped {
        deliver(.success(.swapped(swapped, acknowledged: 0, lacking: reason)))
      } else {
        deliver(.failure(RedisOperationFailure(reason, mayBeDone: wasSent)))
      }
    }
  }
}
