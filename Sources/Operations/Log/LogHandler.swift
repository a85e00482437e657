import CSystem
import Logging
import Settings
import Synchronization

/// swift-log's backend for operational messages: static texts with metadata. Level and format follow the configuration.
public struct OperationalLogHandler: LogHandler {
  public final class Format: Sendable {
    private let json = Atomic<Bool>(true)
    private let minimum = Atomic<Int>(Logger.Level.info.rawOrder)
    public init() {}
    public func follow(_ settings: LogSettings) {
      json.store(settings.format == .json, ordering: .relaxed)
      minimum.store(Logger.Level(settings.level).rawOrder, ordering: .relaxed)
    }
    var isJSON: Bool { json.load(ordering: .relaxed) }
    var minimumOrder: Int { minimum.load(ordering: .relaxed) }
  }

  private let output: LogOutput
  private let format: Format
  public var metadata: Logger.Metadata = [:]

  public init(_ output: LogOutput, _ format: Format) {
    self.output = output
    self.format = format
  }

  public var logLevel: Logger.Level {
    get { Logger.Level.allCases.first { $0.rawOrder == format.minimumOrder } ?? .info }
    set {}
  }

  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  public func log(event: LogEvent) {
    var line = LineWriter(json: format.isJSON)
    var clock = TimestampClock()
    line.add("time", clock.at(nanosecondsSince1970: csys_wall_clock()))
    line.add("level", event.level.rawValue)
    line.add("message", event.message.description)
    for (key, value) in (event.metadata ?? [:]).merging(metadata, uniquingKeysWith: { own, _ in own }).sorted(by: {
      $0.key < $1.key
    }) {
      switch value {
      case .array(let values): line.add(dynamic: key, values.map { "\($0)" })
      default: line.add(dynamic: key, "\(value)")
      }
    }
    output.write(line.finish())
  }
}

extension Logger.Level {
  init(_ level: LogSettings.Level) { self = Logger.Level(rawValue: level.rawValue) ?? .info }
  var rawOrder: Int { Logger.Level.allCases.firstIndex(of: self) ?? 0 }
}
