/// The client's side of SOCKS5 (RFC 1928) with user name and password (RFC 1929), from the greeting to the reply: bytes in, bytes
/// out. It offers exactly one method, and reads by exact length, so what follows the reply stays untouched.
public struct SOCKS5: Sendable {
  public enum Target: Sendable, Hashable {
    /// The parent resolves it.
    case name(String)
    /// 4 bytes, or 16.
    case address([UInt8])
  }

  public struct Login: Sendable {
    var user: [UInt8]
    var password: [UInt8]
    public init(user: [UInt8], password: [UInt8]) {
      self.user = user
      self.password = password
    }
  }

  /// What cannot be asked for.
  public enum Unaskable: Error, Sendable, Hashable {
    /// Over 255 bytes, or empty. Never shortened, and never resolved here instead.
    case name
    /// An address of neither 4 nor 16 bytes.
    case address
    /// A user name or password that is empty, or over 255 bytes.
    case login
  }

  public enum Failure: Sendable, Hashable {
    /// The bytes are not SOCKS5, or choose a method that was not offered.
    case notSOCKS
    /// Method 255: the parent does not accept the one that was offered.
    case methodRefused
    /// RFC 1929 section 2: any status but 0.
    case loginRefused(status: UInt8)
    /// RFC 1928 section 6: any reply but 0.
    case refused(reply: UInt8)
  }

  public enum Step: Sendable, Hashable {
    /// All bytes are used, and `missing` more must come.
    case needMore
    /// Send these, then go on with what comes.
    case send([UInt8])
    /// The next byte is the origin's.
    case open
    case failed(Failure)
  }

  private enum State { case method, login, reply, finished }

  private static let version: UInt8 = 5
  private static let connect: UInt8 = 1
  private static let noLogin: UInt8 = 0
  private static let password: UInt8 = 2
  private static let noneAcceptable: UInt8 = 0xff

  private let request: [UInt8]
  /// The login as it goes out; nil: without.
  private let login: [UInt8]?
  private var state = State.method
  /// Of the answer that is read now. At most 262 bytes.
  private var received: [UInt8] = []

  public init(_ target: Target, port: UInt16, login: Login? = nil) throws(Unaskable) {
    var request: [UInt8] = [Self.version, Self.connect, 0]
    switch target {
    case .name(let name):
      guard let count = UInt8(exactly: name.utf8.count), count > 0 else { throw .name }
      request += [3, count] + Array(name.utf8)
    case .address(let bytes):
      guard bytes.count == 4 || bytes.count == 16 else { throw .address }
      request += [bytes.count == 4 ? 1 : 4] + bytes
    }
    self.request = request + [UInt8(port >> 8), UInt8(port & 0xff)]
    self.login = try login.map { (login) throws(Unaskable) in
      guard (1...255).contains(login.user.count), (1...255).contains(login.password.count) else { throw .login }
      return [1, UInt8(login.user.count)] + login.user + [UInt8(login.password.count)] + login.password
    }
  }

  /// The greeting: what to send first.
  public var greeting: [UInt8] { [Self.version, 1, login == nil ? Self.noLogin : Self.password] }

  /// The user name and password are to be sent, or were.
  public var isLoginSent: Bool { login != nil && state != .method }
  /// The parent has accepted them (RFC 1929 section 2), whatever becomes of the target.
  public var isLoginAccepted: Bool { login != nil && state == .reply }

  /// How many bytes the answer that is read now lacks at least: so many can be read without taking one of the origin's.
  public var missing: Int { max(0, wanted - received.count) }

  /// As far as its length is known.
  private var wanted: Int {
    switch state {
    case .method, .login: return 2
    case .finished: return 0
    case .reply:
      // Version, reply, reserved, type, and the first byte of the address, which is a name's length.
      guard received.count >= 5 else { return 5 }
      switch received[3] {
      case 1: return 10
      case 4: return 22
      default: return 7 + Int(received[4])
      }
    }
  }

  /// Takes the next bytes of the parent. After `open` or `failed` it takes none.
  /// - Returns: how many bytes were used, and what follows.
  public mutating func receive(_ bytes: UnsafeRawBufferPointer) -> (used: Int, step: Step) {
    var used = 0
    while missing > 0 {
      if used == bytes.count { return (used, .needMore) }
      let count = min(missing, bytes.count - used)
      received += bytes[used..<(used + count)]
      used += count
      if let failure = problem() {
        finish()
        return (used, .failed(failure))
      }
    }
    return (used, answered())
  }

  /// What is wrong with the bytes so far.
  private func problem() -> Failure? {
    switch state {
    case .method:
      if received[0] != Self.version { return .notSOCKS }
      guard received.count > 1, received[1] != greeting[2] else { return nil }
      return received[1] == Self.noneAcceptable ? .methodRefused : .notSOCKS
    case .login:
      // Some servers write 5 for the version of this negotiation, which is 1. The status decides.
      return received.count > 1 && received[1] != 0 ? .loginRefused(status: received[1]) : nil
    case .reply:
      if received[0] != Self.version { return .notSOCKS }
      // Whoever refuses may close before the rest.
      if received.count > 1, received[1] != 0 { return .refused(reply: received[1]) }
      return received.count > 3 && ![1, 3, 4].contains(received[3]) ? .notSOCKS : nil
    case .finished: return nil
    }
  }

  /// The answer is whole and good.
  private mutating func answered() -> Step {
    received.removeAll(keepingCapacity: true)
    switch state {
    case .method:
      guard let login else { return ask() }
      state = .login
      return .send(login)
    case .login: return ask()
    case .reply, .finished:
      finish()
      return .open
    }
  }

  private mutating func ask() -> Step {
    state = .reply
    return .send(request)
  }

  private mutating func finish() {
    state = .finished
    received.removeAll()
  }
}
