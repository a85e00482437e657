import Forwarding
import HTTPWire

/// CONNECT to a parent as values: the request's bytes, and what its answer means (RFC 9110 section 9.3.6).
struct ConnectExchange: ~Copyable {
  enum Reading {
    case incomplete
    /// A tunnel. The bytes from `used` on are its first ones.
    case open(used: Int)
    case refused(ParentFailure.Reason, status: Int?)
    /// It is to be asked again. Behind `used` follows the answer's body; nil: the connection cannot be kept.
    case challenged(ParentReading.Next, used: Int, SkippedBody?)
  }

  /// Bytes that all heads of the answer together may have.
  private let limit: Int
  private let login: ParentLogin?
  /// Of the same request, over this connection or another one.
  private let hasMetOtherRules: Bool
  /// Nanoseconds until the refused credential is worth another try; nil: not before it changes.
  private(set) var pause: Int64?
  private var head = ResponseHead()
  /// Where the head that is being read begins: interim ones came before it.
  private var start = 0

  init(limit: Int, _ login: ParentLogin?, hasMetOtherRules: Bool = false) {
    self.limit = limit
    self.hasMetOtherRules = hasMetOtherRules
    self.login = login
  }

  /// Carries what the parent needs, and nothing of the app's or the entry's.
  /// - Parameter authority: `host:port`, IPv6 in brackets.
  static func request(
    _ authority: [UInt8], by name: ProxyName, login: ParentLogin?, connectLines: [UInt8]
  ) throws(ParentFailure.Reason) -> [UInt8] {
    var bytes = Array("CONNECT ".utf8) + authority + Array(" HTTP/1.1\r\nHost: ".utf8) + authority + Array("\r\n".utf8)
    bytes += Array("Via: 1.1 ".utf8) + name.bytes + Array("\r\n".utf8)
    if let login { bytes += try login.line(method: Array("CONNECT".utf8), target: authority, hasBody: false) }
    return bytes + connectLines + Array("\r\n".utf8)
  }

  /// - Parameter bytes: all that has come so far.
  mutating func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
    while true {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
      switch head.parse(rest, limit: limit - start) {
      case .incomplete: return .incomplete
      case .invalid(.headTooLarge), .invalid(.tooManyFields):
        return .refused(.badAnswer("the head of its answer is too large"), status: nil)
      case .invalid: return .refused(.badAnswer("its answer is no HTTP"), status: nil)
      case .complete:
        guard head.isInterim else { return meaning(rest) }
        start += head.length
        head.reset()
      }
    }
  }

  private mutating func meaning(_ bytes: UnsafeRawBufferPointer) -> Reading {
    let status = head.status
    let reading = login?.authentication?.read(head, in: bytes).once(hasMetOtherRules) ?? .other
    switch status {
    case 200..<300:
      // Only a tunnel needs a proof. A refusal opens nothing, and as a bad answer it would blame the parent and be evaded.
      if case .invalid(let why) = reading { return .refused(.badAnswer(why), status: status) }
      // Content-Length and Transfer-Encoding in it mean nothing.
      return .open(used: start + head.length)
    case 407:
      if case .challenge(let next) = reading {
        let body = (try? head.framing(to: .connect, in: bytes)).flatMap { SkippedBody($0) }
        return .challenged(next, used: start + head.length, head.persists(in: bytes) ? body : nil)
      }
      if case .refused(let pause) = reading { self.pause = pause }
      return .refused(.loginRefused(asked: head.proxySchemes(in: bytes), isFinal: pause == nil), status: status)
    // tinyproxy refuses a wrong password with 401. Nobody but the parent can have answered.
    case 401 where login?.isPresented ?? false:
      pause = login?.authentication?.pauseAfterRefusal
      return .refused(.loginRefused(asked: head.proxySchemes(in: bytes), isFinal: pause == nil), status: status)
    case 400..<500: return .refused(.refused, status: status)
    case 508: return .refused(.loop, status: status)
    case 504: return .refused(.unreachable(.timeout), status: status)
    case 500..<600: return .refused(.unreachable(.unavailable), status: status)
    default: return .refused(.badAnswer("it answered \(status) to CONNECT"), status: status)
    }
  }
}

extension ParentLogin {
  /// The whole field line for one request; empty: it carries none.
  /// - Throws: why it cannot be sent.
  func line(method: [UInt8], target: [UInt8], hasBody: Bool) throws(ParentFailure.Reason) -> [UInt8] {
    guard let authentication else { return Self.line(value) }
    let value = method.withUnsafeBytes { method in
      target.withUnsafeBytes { authentication.value(for: ParentRequest(method: method, target: $0, hasBody: hasBody)) }
    }
    switch value {
    case .field(let value): return Self.line(value)
    case .none: return []
    case .failed(let why): throw .loginMissing(why)
    }
  }

  static func line(_ value: [UInt8]) -> [UInt8] { Array("Proxy-Authorization: ".utf8) + value + Array("\r\n".utf8) }

  /// Whether an answer other than 407 shows that the credential is right.
  var isPresented: Bool { authentication?.hasAnswered ?? true }
}

extension ResponseHead {
  /// The names of the schemes in Proxy-Authenticate, for messages: each once, at most eight.
  func proxySchemes(in bytes: UnsafeRawBufferPointer) -> String {
    var names: [String] = []
    for field in fields where field.id == .proxyAuthenticate {
      var challenges = Challenges(field.value, in: bytes)
      while names.count < 8, let challenge = challenges.next() {
        let name = String(decoding: challenge.scheme.bytes(in: bytes).prefix(32), as: UTF8.self)
        if !names.contains(where: { $0.lowercased() == name.lowercased() }) { names.append(name) }
      }
    }
    return names.joined(separator: ", ")
  }
}
