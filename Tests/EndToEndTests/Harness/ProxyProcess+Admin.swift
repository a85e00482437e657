import Foundation

extension ProxyProcess {
  /// A page of the admin listener.
  func admin(
    _ page: String, method: String = "GET", fields: [(name: String, value: String)] = [], body: String = ""
  ) throws -> Answer {
    let connection = try RawConnection(port: adminPort)
    let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
    try connection.send("\(method) /\(page) HTTP/1.1\r\nHost: localhost\r\n\(lines)\(length)\r\n\(body)")
    return try connection.readAnswer(to: method)
  }

  /// When the credential's token expires, in seconds since 1970. Its owner notes that after it has published the token.
  func awaitExpiry(of credential: String) throws -> Double {
    for _ in 0..<200 {
      if let expiry = try metric(#"authproxy_credential_expiry_timestamp_seconds{credential="\#(credential)"}"#) {
        return expiry
      }
      usleep(10_000)
    }
    throw HarnessError("no token of \(credential) has an end")
  }

  /// A sample of /metrics by its complete series: `authproxy_tunnels`, `authproxy_requests_total{upstream="a",code="200"}`.
  func metric(_ series: String) throws -> Double? {
    for line in try admin("metrics").text.split(separator: "\n") where line.hasPrefix(series + " ") {
      return Double(line.dropFirst(series.count + 1))
    }
    return nil
  }

  func status() throws -> [String: Any] {
    guard let object = try JSONSerialization.jsonObject(with: Data(try admin("status").body)) as? [String: Any] else {
      throw HarnessError("/status is no object")
    }
    return object
  }
}
