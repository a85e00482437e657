import Crypto
import EventIO
import Forwarding
import HTTPWire
import WayOut

/// What is said with a parent before a stream through it is open: CONNECT, or SOCKS5. Bytes in, bytes out.
final class ParentExchange {
  enum Reading {
    case incomplete
    case send([UInt8])
    /// What is left of the received bytes is the stream's.
    case open
    case refused(ParentFailure.Reason, status: Int?, reply: UInt8?)
    /// It is to be asked again. What is left of the received bytes is the answer's body; nil: the connection cannot be kept.
    case challenged(ParentReading.Next, SkippedBody?)
  }

  /// To be sent first.
  let opening: [UInt8]
  private let login: ParentLogin?
  private var connect: ConnectExchange?
  private var socks: SOCKS5?

  /// - Parameters:
  ///   - host: a name or an address; IPv6 without brackets.
  ///   - limit: bytes that an HTTP answer's head may have.
  ///   - hasMetOtherRules: see `ParentReading.once`.
  init(
    _ parent: Parent, host: String, port: UInt16, login: ParentLogin?, by name: ProxyName, limit: Int,
    hasMetOtherRules: Bool
  ) throws(ParentFailure.Reason) {
    self.login = login
    if parent.isSOCKS {
      let target = Address(literal: host, port: port)?.octets.map { SOCKS5.Target.address($0) } ?? .name(host)
      let socks: SOCKS5
      do { socks = try SOCKS5(target, port: port, login: login?.userAndPassword) } catch { throw .unaskable(error) }
      opening = socks.greeting
      self.socks = socks
    } else {
      // The port is always written (RFC 9110 section 9.3.6).
      let authority = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
      opening = try ConnectExchange.request(
        Array(authority.utf8), by: name, login: login, connectLines: parent.connectLines)
      connect = ConnectExchange(limit: limit, login, hasMetOtherRules: hasMetOtherRules)
    }
  }

  /// What was sent shows whether the credential is right.
  var presentsLogin: Bool { login?.isPresented ?? false && socks?.isLoginSent ?? true }
  /// The parent has said that it is, before it is asked for the target.
  var isLoginAccepted: Bool { socks?.isLoginAccepted ?? false }

  /// Of a refused credential: nanoseconds until it is worth another try; nil: not before it changes.
  var pause: Int64? { connect?.pause }

  /// What its answer says of the credential, when nobody needs the stream any more.
  func verdict(_ received: inout [UInt8]) -> LateAnswer.Verdict {
    switch read(&received) {
    case .incomplete: .incomplete
    // SOCKS asks for the target once the parent has accepted the credential.
    case .send, .open: .accepted
    case .refused(.loginRefused(let asked, _), _, _): .refused(asked: asked, pause: pause)
    case .refused(.badAnswer, _, _): .unreadable
    // Another connection begins anew.
    case .refused, .challenged: .none
    }
  }

  /// - Parameter received: all that has come and was not used.
  func read(_ received: inout [UInt8]) -> Reading {
    socks == nil ? readHTTP(&received) : readSOCKS(&received)
  }

  private func readHTTP(_ received: inout [UInt8]) -> Reading {
    guard let reading = received.withUnsafeBytes({ connect?.read($0) }) else { return .incomplete }
    switch reading {
    case .incomplete: return .incomplete
    case .open(let used):
      received.removeFirst(used)
      return .open
    case .refused(let reason, let status): return .refused(reason, status: status, reply: nil)
    case .challenged(let next, let used, let body):
      received.removeFirst(used)
      return .challenged(next, body)
    }
  }

  private func readSOCKS(_ received: inout [UInt8]) -> Reading {
    guard let (used, step) = received.withUnsafeBytes({ socks?.receive($0) }) else { return .incomplete }
    received.removeFirst(used)
    switch step {
    case .needMore: return .incomplete
    case .send(let bytes): return .send(bytes)
    case .open: return .open
    case .failed(let failure): return Self.meaning(failure)
    }
  }

  /// RFC 1928 section 6.
  private static func meaning(_ failure: SOCKS5.Failure) -> Reading {
    switch failure {
    case .refused(let code):
      switch code {
      case 2: .refused(.refused, status: nil, reply: code)
      case 3, 4: .refused(.unreachable(.unroutable), status: nil, reply: code)
      case 5: .refused(.unreachable(.connectionRefused), status: nil, reply: code)
      case 6: .refused(.unreachable(.timeout), status: nil, reply: code)
      default: .refused(.unreachable(.unavailable), status: nil, reply: code)
      }
    case .methodRefused: .refused(.loginRefused(asked: ""), status: nil, reply: nil)
    case .loginRefused: .refused(.loginRefused(asked: "username and password"), status: nil, reply: nil)
    case .notSOCKS: .refused(.badAnswer("its answer is no SOCKS5"), status: nil, reply: nil)
    }
  }
}

extension ParentLogin {
  /// Of a basic credential (RFC 1929); nil: it is none.
  var userAndPassword: SOCKS5.Login? {
    let scheme = Array("Basic ".utf8)
    guard value.starts(with: scheme), let bytes = Base64.decode(value.dropFirst(scheme.count)) else { return nil }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    return SOCKS5.Login(user: Array(bytes[..<colon]), password: Array(bytes[(colon + 1)...]))
  }
}
