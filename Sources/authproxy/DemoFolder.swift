import Glibc
import Interception

/// The folder that the demo's proxy publishes its CA in. It holds nothing secret, and goes with the demo.
struct DemoFolder: Sendable {
  let path: String

  /// A new one that nobody else may write.
  init() throws(DemoWorld.Failure) {
    var template = Array("/tmp/authproxy-demo.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil, chmod(template, 0o755) == 0 else {
      throw DemoWorld.Failure(description: "no folder can be made in /tmp")
    }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  var roots: String { "\(path)/\(PublishedFiles.rootsName)" }

  func remove() {
    for name in PublishedFiles.names { unlink("\(path)/\(name)") }
    rmdir(path)
  }
}
