import Glibc
import Interception

/// The folder that the demo's proxy publishes its CA in. It holds nothing secret, and goes with the demo.
struct DemoFolder: Sendable {
  let path: String

  /// A new one that nobody else may write, in TMPDIR or /tmp.
  init() throws(DemoWorld.Failure) {
    let wanted = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    // It stands in the configuration that the demo shows, without quotes.
    let isPlain =
      wanted.hasPrefix("/") && wanted.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0)) }
    let parent = isPlain ? wanted : "/tmp"
    // mkdtemp replaces six letters X.
    var template = Array("\(parent)/authproxy-demo.\(String(repeating: "X", count: 6))".utf8CString)
    guard mkdtemp(&template) != nil, chmod(template, 0o755) == 0 else {
      throw DemoWorld.Failure(description: "no folder can be made in \(parent)")
    }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  var roots: String { "\(path)/\(PublishedFiles.rootsName)" }

  func remove() {
    for name in PublishedFiles.names { unlink("\(path)/\(name)") }
    rmdir(path)
  }
}
