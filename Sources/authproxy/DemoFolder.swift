import Files
import Glibc
import Interception

/// The folder of the demo's configuration, with one in it for what the proxy publishes. Nobody else may read its secrets, and it
/// goes with the demo.
struct DemoFolder: Sendable {
  static let configuration = "proxy.conf"

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
    let made = mkdtemp(&template).map { String(cString: $0) }
    guard let path = made, chmod(path, 0o755) == 0, mkdir("\(path)/apps", 0o755) == 0, chmod("\(path)/apps", 0o755) == 0 else {
      if let made { rmdir(made) }
      throw DemoWorld.Failure(description: "no folder can be made in \(parent)")
    }
    self.path = path
  }

  /// What apps may read.
  var published: String { "\(path)/apps" }
  var roots: String { "\(published)/\(PublishedFiles.rootsName)" }

  var configurationPath: String { "\(path)/\(Self.configuration)" }

  /// A file for the demo's user alone.
  func write(_ bytes: [UInt8], to name: String) throws(DemoWorld.Failure) {
    do throws(FileError) { try Folder(path).create(name, bytes, mode: 0o600) } catch {
      throw DemoWorld.Failure(description: "\(path)/\(name): \(error)")
    }
  }

  /// With everything that the proxy and `authproxy login` have made in it.
  func remove() {
    for folder in [published, path] {
      for name in (try? FolderContent.read(folder).names) ?? [] { unlink("\(folder)/\(name)") }
      rmdir(folder)
    }
  }
}
