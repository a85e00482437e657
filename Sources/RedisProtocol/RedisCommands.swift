import RESP

/// The few commands that a token store consists of. The ACL that suffices for them is part of the documentation.
extension RESPCommand {
  /// - Parameter login: nil: without a password.
  static func hello(_ login: RedisLogin?) -> RESPCommand {
    var words = ["HELLO", "3"].map { Array($0.utf8) }
    if let login { words += [Array("AUTH".utf8), login.user, login.password] }
    // For CLIENT LIST on the server.
    return RESPCommand(words + [Array("SETNAME".utf8), Array("authproxy".utf8)])
  }

  static func select(_ database: Int) -> RESPCommand { RESPCommand("SELECT", "\(database)") }
  static func subscribe(_ channel: [UInt8]) -> RESPCommand { RESPCommand([Array("SUBSCRIBE".utf8), channel]) }
  static func countSubscribers(_ channel: [UInt8]) -> RESPCommand {
    RESPCommand([Array("PUBSUB".utf8), Array("NUMSUB".utf8), channel])
  }

  /// Before a command that a cluster's node redirected with ASK.
  public static let asking = RESPCommand("ASKING")

  public static func primary(of name: String) -> RESPCommand { RESPCommand("SENTINEL", "get-master-addr-by-name", name) }

  /// The reply is `RedisReading`.
  public static func read(_ key: [UInt8]) -> RESPCommand { script(readScript, key, []) }

  /// Replaces a record if it has exactly these bytes, and says so to the channel. The reply is `RedisSwap`.
  /// - Parameters:
  ///   - expected: nil: there must be none.
  ///   - replacement: nil: there is none afterwards.
  ///   - milliseconds: after which the server forgets the record; nil: never.
  public static func compareAndSet(
    _ key: [UInt8], expected: [UInt8]?, replacement: [UInt8]?, expiresAfter milliseconds: Int64? = nil, channel: [UInt8]
  ) -> RESPCommand {
    // Lua has no nil in its arguments, and a record may be any bytes: so a flag goes before each.
    let flags = [expected, replacement].map { [UInt8(ascii: $0 == nil ? "0" : "1")] }
    // PX 0 is an error.
    let life = milliseconds.map { max($0, 1) } ?? 0
    return script(swapScript, key, [flags[0], expected ?? [], flags[1], replacement ?? [], Array("\(life)".utf8), channel])
  }

  /// Waits for so many replicas to have what this connection wrote. The reply is how many have it.
  /// - Parameter milliseconds: at most; 0 would be without end.
  public static func wait(replicas: Int, milliseconds: Int) -> RESPCommand {
    RESPCommand("WAIT", "\(replicas)", "\(max(milliseconds, 1))")
  }

  private static func script(_ text: String, _ key: [UInt8], _ arguments: [[UInt8]]) -> RESPCommand {
    RESPCommand([Array("EVAL".utf8), Array(text.utf8), [UInt8(ascii: "1")], key] + arguments)
  }

  /// The time is the server's, so that no two machines' clocks are compared.
  private static let readScript = """
    local now = redis.call('TIME')
    return {redis.call('GET', KEYS[1]), now[1], now[2]}
    """

  /// GET says false where there is nothing, as does `wanted`. The write is the last command, so that an error means that nothing was
  /// written.
  private static let swapScript = """
    local now = redis.call('TIME')
    local old = redis.call('GET', KEYS[1])
    local wanted = ARGV[1] == '1' and ARGV[2]
    if old ~= wanted then return {0, old, now[1], now[2]} end
    redis.call('PUBLISH', ARGV[6], KEYS[1])
    if ARGV[3] == '0' then redis.call('DEL', KEYS[1])
    elseif ARGV[5] == '0' then redis.call('SET', KEYS[1], ARGV[4])
    else redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5]) end
    return {1, false, now[1], now[2]}
    """
}

/// A user of the server, or of a Sentinel. Says nothing of itself.
public struct RedisLogin: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  public let user: [UInt8]
  public let password: [UInt8]

  public init(user: String = "default", password: [UInt8]) {
    self.user = Array(user.utf8)
    self.password = password
  }

  public var description: String { "<login>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
