import JSON
import Proxy
import SmallHTTP

/// `POST /cache/purge`: drops stored answers.
struct PurgePage {
  static let path = "/cache/purge"
  private static let type = "application/json"

  let service: Service

  /// - Parameter reply: called once, on any thread.
  func answer(_ request: ServedRequest, _ reply: @escaping HTTPServer.Reply) {
    guard request.method == "POST" else { return reply(.methodNotAllowed("POST")) }
    let written = request["content-type"]?.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    // A web page cannot send this type to another origin without asking first, and nothing here answers it.
    guard written == Self.type else { return reply(.text(415, "the body must be \(Self.type)\n")) }
    // A page whose host name was made to lead here is of this origin to the browser. Tools do not send the field.
    guard request["origin"] == nil else { return reply(.text(403, "a browser sent this\n")) }
    let order: PurgeOrder
    do throws(PurgeOrder.Problem) { order = try PurgeOrder(json: request.body) } catch {
      return reply(.text(400, "\(error)\n"))
    }
    service.purge(order) { result in
      switch result {
      case .success(let count):
        reply(.document(Self.type, (["purged": .integer(count)] as JSONValue).text + [UInt8(ascii: "\n")]))
      case .failure(let problem): reply(.text(400, "\(problem)\n"))
      }
    }
  }
}

extension PurgeOrder {
  /// - Parameter json: an object of texts. Another member or type is an error: it would narrow, and is not understood.
  init(json bytes: [UInt8]) throws(Problem) {
    let value: JSONValue
    do throws(JSONError) { value = try JSONParser.parse(bytes) } catch {
      throw Problem(description: "the body is no JSON: byte \(error.offset): \(error.reason.rawValue)")
    }
    guard case .object(let members) = value else { throw Problem(description: "the body is no JSON object") }
    self.init()
    for member in members {
      guard let text = member.value.string else { throw Problem(description: "\(Self.shown(member.name)) must be a text") }
      switch member.name {
      case "url": url = text
      case "upstream": upstream = text
      case "client": client = text
      default:
        throw Problem(description: "unknown member \(Self.shown(member.name)); there are 'url', 'upstream' and 'client'")
      }
    }
  }

  private static func shown(_ name: String) -> String {
    var bytes: [UInt8] = []
    JSONString.append(String(name.prefix(64)), to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
