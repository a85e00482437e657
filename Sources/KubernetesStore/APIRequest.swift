import Fetch

/// What is asked of the API server.
struct APIRequest {
  let verb: KubernetesFailure.Verb
  let url: String
  let body: [UInt8]

  /// Linearizable: without a resourceVersion the server reads from etcd's majority.
  static func get(_ settings: KubernetesSettings) -> APIRequest {
    APIRequest(verb: .get, url: "\(settings.collection)/\(settings.secret)", body: [])
  }

  /// - Parameter body: a merge patch.
  static func patch(_ settings: KubernetesSettings, _ body: [UInt8]) -> APIRequest {
    APIRequest(verb: .patch, url: "\(settings.collection)/\(settings.secret)?fieldManager=authproxy", body: body)
  }

  /// - Parameter seconds: after which the server ends it.
  static func watch(_ settings: KubernetesSettings, from version: String, seconds: Int) -> APIRequest {
    let query =
      "watch=1&allowWatchBookmarks=true&fieldSelector=metadata.name%3D\(settings.secret)"
      + "&resourceVersion=\(encoded(version))&timeoutSeconds=\(seconds)"
    return APIRequest(verb: .watch, url: "\(settings.collection)?\(query)", body: [])
  }

  /// Names of objects need no encoding (RFC 1123); versions are opaque.
  private static func encoded(_ text: String) -> String {
    let hex = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: bytes.append(byte)
      default: bytes += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// - Parameter timeout: milliseconds.
  func fetch(token: [UInt8], timeout: Int, stream: FetchStream?) -> HTTPFetch {
    var fields: [(name: String, value: [UInt8])] = [
      ("Accept", Array("application/json".utf8)), ("Authorization", Array("Bearer ".utf8) + token),
    ]
    if verb == .patch { fields.append(("Content-Type", Array("application/merge-patch+json".utf8))) }
    var fetch = HTTPFetch(
      method: verb == .patch ? .patch : .get, url: url, fields: fields, body: body, timeout: timeout,
      limitBytes: SecretObject.maximumSize)
    // The cluster's own server is not behind a parent proxy.
    fetch.goesDirectly = true
    fetch.receive(into: stream)
    return fetch
  }
}

extension KubernetesSettings {
  fileprivate var collection: String { "\(server)/api/v1/namespaces/\(namespace)/secrets" }
}
