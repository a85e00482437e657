import Testing
import WayOut

/// RFC 1928 and RFC 1929.
struct SOCKS5Tests {
  private static let address: [UInt8] = [192, 0, 2, 7]
  private static let login = SOCKS5.Login(user: Array("user".utf8), password: Array("pass".utf8))

  /// Plays the parent's bytes in pieces. The client never gets more than it asks for if `byLength`.
  private struct Played {
    var sent: [[UInt8]] = []
    var end: SOCKS5.Step?
    var used = 0

    /// - Parameter cut: the first piece of the bytes has so many, the second the rest; nil: all at once.
    init(_ client: SOCKS5, _ bytes: [UInt8], cut: Int? = nil) {
      var client = client
      sent.append(client.greeting)
      for piece in cut.map({ [Array(bytes[..<$0]), Array(bytes[$0...])] }) ?? [bytes] {
        var rest = piece[...]
        repeat {
          let (count, step) = rest.withUnsafeBytes { client.receive($0) }
          rest = rest.dropFirst(count)
          used += count
          switch step {
          case .needMore:
            #expect(rest.isEmpty, "bytes are left, but more are wanted")
            #expect(client.missing > 0)
          case .send(let bytes): sent.append(bytes)
          case .open, .failed:
            end = step
            #expect(client.missing == 0)
            return
          }
        } while !rest.isEmpty
      }
    }
  }

  private static let replies: [(name: String, bytes: [UInt8])] = [
    ("IPv4", [5, 0, 0, 1, 10, 0, 0, 1, 0x1f, 0x90]),
    ("IPv6", [5, 0, 0, 4] + [UInt8](repeating: 0xfd, count: 16) + [0x1f, 0x90]),
    ("name", [5, 0, 0, 3, 4] + Array("host".utf8) + [0x1f, 0x90]),
    ("long name", [5, 0, 0, 3, 255] + [UInt8](repeating: 0x61, count: 255) + [0, 0]),
    ("empty name", [5, 0, 0, 3, 0, 0x1f, 0x90]),
  ]

  @Test(arguments: [false, true])
  func `every reply is read at every split, and nothing behind it`(hasLogin: Bool) throws {
    let client = try SOCKS5(.address(Self.address), port: 443, login: hasLogin ? Self.login : nil)
    let before: [UInt8] = hasLogin ? [5, 2, 1, 0] : [5, 0]
    let behind: [UInt8] = Array("SSH-2.0".utf8)
    for reply in Self.replies {
      let bytes = before + reply.bytes
      for cut in [nil] + (0...(bytes.count + behind.count)).map(Optional.some) {
        let played = Played(client, bytes + behind, cut: cut)
        #expect(played.end == .open, "\(reply.name), \(cut ?? -1)")
        #expect(played.used == bytes.count, "\(reply.name), \(cut ?? -1)")
        #expect(played.sent.last == [5, 1, 0, 1] + Self.address + [1, 0xbb])
      }
      for count in 0..<bytes.count {
        #expect(Played(client, Array(bytes[..<count])).end == nil, "\(reply.name) is open after \(count) bytes")
      }
    }
  }

  @Test func `whoever reads what is missing never reads a byte of the origin`() throws {
    for reply in Self.replies {
      var client = try SOCKS5(.address(Self.address), port: 443, login: Self.login)
      var rest = ([5, 2, 1, 0] + reply.bytes + [0x41, 0x42])[...]
      var step = SOCKS5.Step.needMore
      while client.missing > 0 {
        let piece = Array(rest.prefix(client.missing))
        rest = rest.dropFirst(piece.count)
        let taken = piece.withUnsafeBytes { client.receive($0) }
        #expect(taken.used == piece.count)
        step = taken.step
      }
      #expect(step == .open && Array(rest) == [0x41, 0x42])
      let after = [1, 2].withUnsafeBytes { client.receive($0) }
      #expect(after.used == 0 && after.step == .open)
    }
  }

  @Test func `it offers the one method, and asks for name or address`() throws {
    let name = try SOCKS5(.name("api.example.com"), port: 8443)
    #expect(name.greeting == [5, 1, 0])
    #expect(Played(name, [5, 0]).sent.last == [5, 1, 0, 3, 15] + Array("api.example.com".utf8) + [0x20, 0xfb])
    let v6 = [UInt8](1...16)
    let address = try SOCKS5(.address(v6), port: 80, login: Self.login)
    #expect(address.greeting == [5, 1, 2])
    let sent = Played(address, [5, 2, 1, 0]).sent
    #expect(sent == [[5, 1, 2], [1, 4] + Array("user".utf8) + [4] + Array("pass".utf8), [5, 1, 0, 4] + v6 + [0, 80]])
  }

  @Test func `every reply code but 0 refuses, as soon as it is there`() throws {
    let client = try SOCKS5(.address(Self.address), port: 443)
    for code in 1...255 as ClosedRange<UInt8> {
      for rest in [[], [0], [0, 1, 0, 0, 0, 0, 0, 0], [0, 99]] as [[UInt8]] {
        let played = Played(client, [5, 0, 5, code] + rest)
        #expect(played.end == .failed(.refused(reply: code)))
      }
      #expect(Played(client, [5, 0, 5, code, 0, 1], cut: 3).end == .failed(.refused(reply: code)))
    }
  }

  @Test func `a status of the login but 0 refuses`() throws {
    let client = try SOCKS5(.address(Self.address), port: 443, login: Self.login)
    for status in 1...255 as ClosedRange<UInt8> {
      let played = Played(client, [5, 2, 1, status])
      #expect(played.end == .failed(.loginRefused(status: status)))
      #expect(played.sent.count == 2, "the request went out")
    }
    // Some servers write 5 for the version.
    #expect(Played(client, [5, 2, 5, 0]).sent.count == 3)
  }

  @Test(arguments: [false, true])
  func `no other method than the one that was offered is used`(hasLogin: Bool) throws {
    let client = try SOCKS5(.address(Self.address), port: 443, login: hasLogin ? Self.login : nil)
    for method in 0...255 as ClosedRange<UInt8> where method != (hasLogin ? 2 : 0) {
      let played = Played(client, [5, method])
      #expect(played.end == .failed(method == 255 ? .methodRefused : .notSOCKS))
      #expect(played.sent.count == 1, "the login went out")
    }
  }

  @Test(
    arguments: [
      Array("HTTP/1.1 400 Bad Request\r\n".utf8), [4, 0], [0, 90], [0], [5, 0, 4, 0, 0, 1], [5, 0, 5, 0, 0, 0],
      [5, 0, 5, 0, 0, 2],
      [5, 0, 5, 0, 0, 255],
    ] as [[UInt8]])
  func `what is no SOCKS5 is refused`(bytes: [UInt8]) throws {
    let client = try SOCKS5(.address(Self.address), port: 443)
    #expect(Played(client, bytes).end == .failed(.notSOCKS))
  }

  @Test(arguments: [0, 1, 255, 256, 1_000])
  func `a name is never shortened`(count: Int) {
    let name = String(repeating: "a", count: count)
    #expect(
      Self.problem { () throws(SOCKS5.Unaskable) in _ = try SOCKS5(.name(name), port: 1) } == ((1...255) ~= count ? nil : .name)
    )
  }

  @Test(arguments: [0, 1, 255, 256])
  func `the login's parts have 1 to 255 bytes`(count: Int) {
    let (part, one) = ([UInt8](repeating: 0x61, count: count), [0x61] as [UInt8])
    for login in [SOCKS5.Login(user: part, password: one), SOCKS5.Login(user: one, password: part)] {
      let problem = Self.problem { () throws(SOCKS5.Unaskable) in _ = try SOCKS5(.name("a"), port: 1, login: login) }
      #expect(problem == ((1...255) ~= count ? nil : .login))
    }
    for bytes in [[], [1], [UInt8](repeating: 1, count: 15), [UInt8](repeating: 1, count: 17)] as [[UInt8]] {
      #expect(Self.problem { () throws(SOCKS5.Unaskable) in _ = try SOCKS5(.address(bytes), port: 1) } == .address)
    }
  }

  private static func problem(_ body: () throws(SOCKS5.Unaskable) -> Void) -> SOCKS5.Unaskable? {
    do throws(SOCKS5.Unaskable) {
      try body()
      return nil
    } catch { return error }
  }
}
