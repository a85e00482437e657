import RESP

/// Microseconds since 1970 by the store's clock: the only one by which members of a fleet compare times.
public struct RedisTime: Sendable, Hashable, Comparable {
  public let microseconds: Int64
  public init(microseconds: Int64) { self.microseconds = microseconds }

  public static func < (one: RedisTime, other: RedisTime) -> Bool { one.microseconds < other.microseconds }

  /// - Parameter values: as TIME says them: seconds, and microseconds of the second.
  init(_ values: ArraySlice<RESPValue>) throws(RedisFailure) {
    let numbers = values.compactMap { $0.bytes.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } }
    guard numbers.count == 2, numbers.count == values.count, (0..<1_000_000).contains(numbers[1]), numbers[0] >= 0 else {
      throw .unexpectedReply
    }
    let (seconds, overflow) = numbers[0].multipliedReportingOverflow(by: 1_000_000)
    guard !overflow, seconds < Int64.max - 1_000_000 else { throw .unexpectedReply }
    microseconds = seconds + numbers[1]
  }
}

/// A record as it was at a time of the store.
public struct RedisReading: Sendable, Hashable {
  /// nil: there is none.
  public let record: [UInt8]?
  public let time: RedisTime

  public init(record: [UInt8]?, time: RedisTime) {
    self.record = record
    self.time = time
  }

  public init(_ reply: RESPValue) throws(RedisFailure) {
    guard case .array(let values) = reply, values.count == 3 else { throw .unexpectedReply }
    self.init(record: try values[0].optionalBytes(), time: try RedisTime(values[1...]))
  }
}

/// What a compare-and-set came to.
public enum RedisSwap: Sendable, Hashable {
  case swapped(RedisTime)
  /// The record is another one: this.
  case differs(RedisReading)

  public init(_ reply: RESPValue) throws(RedisFailure) {
    guard case .array(let values) = reply, values.count == 4 else { throw .unexpectedReply }
    let time = try RedisTime(values[2...])
    switch values[0] {
    case .integer(1): self = .swapped(time)
    case .integer(0): self = .differs(RedisReading(record: try values[1].optionalBytes(), time: time))
    default: throw .unexpectedReply
    }
  }
}

/// What a server says of itself.
public struct RedisServer: Sendable, Hashable {
  public enum Mode: String, Sendable, Hashable { case standalone, cluster, sentinel }

  public var version: String
  public var mode: Mode
  public var isPrimary: Bool
  /// To the channel of changes, this connection among them; 0 if nobody counted.
  public var subscribers = 0

  public init(version: String, mode: Mode, isPrimary: Bool, subscribers: Int = 0) {
    self.version = version
    self.mode = mode
    self.isPrimary = isPrimary
    self.subscribers = subscribers
  }

  /// - Parameter hello: the reply to HELLO.
  init(hello: RESPValue) throws(RedisFailure) {
    guard hello["proto"] == .integer(3) else { throw .unexpectedReply }
    guard let mode = hello["mode"]?.bytes.flatMap({ Mode(rawValue: String(decoding: $0, as: UTF8.self)) }) else {
      throw .unexpectedReply
    }
    self.mode = mode
    isPrimary = hello["role"]?.bytes == Array("master".utf8)
    let version = hello["version"]?.bytes ?? []
    // It may be written to a log.
    self.version = String(decoding: version.prefix(32).filter { (0x21...0x7e).contains($0) }, as: UTF8.self)
  }
}

extension RESPValue {
  /// How many there are: the reply to PUBSUB NUMSUB for one channel.
  func subscribers(to channel: [UInt8]) throws(RedisFailure) -> Int {
    let pair: [RESPValue]
    switch self {
    case .array(let values): pair = values
    case .map(let entries): pair = entries.flatMap { [$0.key, $0.value] }
    default: throw .unexpectedReply
    }
    guard pair.count == 2, pair[0].bytes == channel, case .integer(let count) = pair[1], count >= 0 else {
      throw .unexpectedReply
    }
    return Int(clamping: count)
  }

  /// The reply to SENTINEL get-master-addr-by-name; nil: it knows none of that name.
  public func primaryAddress() throws(RedisFailure) -> RedisNode? {
    if self == .null { return nil }
    guard case .array(let values) = self, values.count == 2, let host = values[0].bytes, let port = values[1].bytes,
      let number = UInt16(String(decoding: port, as: UTF8.self)), number > 0, !host.isEmpty
    else { throw .unexpectedReply }
    return RedisNode(host: String(decoding: host, as: UTF8.self), port: number)
  }

  /// The reply to WAIT: how many replicas have it.
  public func acknowledgements() throws(RedisFailure) -> Int {
    guard case .integer(let count) = self, count >= 0 else { throw .unexpectedReply }
    return Int(clamping: count)
  }

  fileprivate func optionalBytes() throws(RedisFailure) -> [UInt8]? {
    if self == .null { return nil }
    guard let bytes else { throw .unexpectedReply }
    return bytes
  }
}
