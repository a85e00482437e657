import Files
import Settings

extension ConfigurationFile {
  /// The address of the admin listener. Reads nothing else: a probe must not read secrets, and must work while another part of
  /// the file has an error.
  /// - Throws: why the address is unknown, in one line.
  public static func adminEndpoint(path: String) throws(SecretError) -> ListenerSettings.Endpoint {
    let content: FileContent
    do throws(FileError) { content = try FileReading.read(path, limit: NodeComposer.sizeLimit) } catch {
      throw SecretError("\(path): \(error)")
    }
    let reading = Reading(
      report: Report(file: path), folder: folder(of: path), environment: [:], system: .none,
      readableByOthers: false, now: 0)
    guard let root = NodeComposer.compose(content.bytes, report: reading.report), let top = reading.root(root, isPeek: true)
    else {
      throw SecretError(reading.report.sorted.first.map { "\($0)" } ?? "\(path): is empty")
    }
    guard let admin = top.read(\.admin).flatMap({ reading.admin($0, listeners: []) }) else {
      throw SecretError(
        reading.report.sorted.first.map { "\($0)" } ?? "\(path): the configuration has no admin listener ('admin')")
    }
    return admin.endpoint
  }
}
