import CSystem

/// One small HTTP request, waited for: for commands that ask and end, never for a loop.
public enum BlockingExchange {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }
  public struct Answer: Sendable {
    public var status: Int
    /// Without its last newline.
    public var body: String
  }

  /// - Parameter seconds: for connecting, and for each read.
  public static func get(_ path: String, from address: Address, seconds: Int) -> Result<Answer, Failure> {
    let connected = address.withSockaddr { csys_connect_blocking(address.family, $0, $1, Int32(seconds)) } ?? -ENAMETOOLONG
    guard connected >= 0 else { return .failure(Failure(description: Socket.text(ofError: -connected))) }
    defer { Socket.close(connected) }
    var request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    let sent = request.withUnsafeBytes { Socket.send(connected, $0) }
    guard sent == request.count else { return .failure(Failure(description: Socket.text(ofError: Int32(-min(sent, 0))))) }
    request.removeAll()
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count < 1 << 20 {
      let count = buffer.withUnsafeMutableBytes { Socket.receive(connected, $0) }
      if count == 0 { break }
      guard count > 0 else { return .failure(Failure(description: Socket.text(ofError: Int32(-count)))) }
      bytes += buffer[..<count]
    }
    let text = String(decoding: bytes, as: UTF8.self)
    let words = text.prefix(16).split(separator: " ")
    guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      return .failure(Failure(description: "no HTTP answer"))
    }
    var body = ""
    if let end = text.firstRange(of: "\r\n\r\n") { body = String(text[end.upperBound...]) }
    if body.hasSuffix("\n") { body.removeLast() }
    return .success(Answer(status: status, body: body))
  }
}

extension Address {
  public var isUnix: Bool { if case .unix = kind { true } else { false } }
}
