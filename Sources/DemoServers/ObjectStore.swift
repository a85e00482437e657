import CSystem
import JSON
import SmallHTTP

/// A store that wants requests signed as S3 does (AWS Signature Version 4), and checks each chunk of an upload. PUT stores, GET answers
/// what was stored.
public final class ObjectStore: Responder {
  public static let service = "s3"
  public static let region = "eu-central-1"
  /// A demo may run for days: more are not kept.
  private static let limit = 20

  private let keys: SignedRequest.Keys
  private let tell: (DemoEvent) -> Void
  private var objects: [(path: String, data: [UInt8])] = []

  public init(keyID: String, secret: String, tell: @escaping (DemoEvent) -> Void) {
    keys = SignedRequest.Keys(id: keyID, secret: Array(secret.utf8))
    self.tell = tell
  }

  override public func answer(_ request: ServedRequest) -> ServedAnswer {
    let asked = "\(request.method) \(request.target)"
    let body: SignedBody
    do throws(SignatureProblem) {
      body = try SignedRequest(request, keys, at: csys_wall_clock() / 1_000_000_000).check()
    } catch {
      tell(DemoEvent(source: .store, text: "\(asked): 403, \(error.text)"))
      return Self.error(403, error.code, error.text)
    }
    switch request.method {
    case "PUT": return store(body, request.path, asked)
    case "GET": return read(request.path, asked)
    default: return Self.error(405, "MethodNotAllowed", "this store knows GET and PUT")
    }
  }

  private func store(_ body: SignedBody, _ path: String, _ asked: String) -> ServedAnswer {
    objects.removeAll { $0.path == path }
    if objects.count == Self.limit { objects.removeFirst() }
    objects.append((path, body.data))
    tell(DemoEvent(source: .store, text: "\(asked) with \(body.text): 200"))
    return ServedAnswer(
      200,
      json: [
        "message": .string("stored"), "you_asked": .string(asked), "accepted": .string(body.text),
        "bytes": .integer(body.data.count),
      ])
  }

  private func read(_ path: String, _ asked: String) -> ServedAnswer {
    guard let found = objects.first(where: { $0.path == path }) else {
      tell(DemoEvent(source: .store, text: "\(asked) with a good signature: 404"))
      return Self.error(404, "NoSuchKey", "nothing was stored here")
    }
    tell(DemoEvent(source: .store, text: "\(asked) with a good signature: 200"))
    return ServedAnswer(200, type: "application/octet-stream", body: found.data)
  }

  private static func error(_ status: Int, _ code: String, _ text: String) -> ServedAnswer {
    ServedAnswer(
      status, type: "application/xml", body: Array("<Error><Code>\(code)</Code><Message>\(text)</Message></Error>\n".utf8))
  }
}
