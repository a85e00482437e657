import Files
import Settings

extension ConfigurationFile {
  /// Where the admin listener is, and nothing else: for a probe that must neither read secrets nor care whether the rest of the
  /// file is right at the moment.
  /// - Throws: why it cannot be told, as one line.
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
      throw SecretError(reading.report.sorted.first.map { "\($0)" } ?? "\(path): there is no admin listener to ask ('admin')")
    }
    return admin.endpoint
  }
}
