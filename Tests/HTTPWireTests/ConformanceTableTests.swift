import Foundation
import Testing

/// `docs/http-conformance.md` names a suite and a part of a test's name for what it says: they must be there.
@Suite("The conformance table")
struct ConformanceTableTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// Sources of all tests.
  private func tests() throws -> [String] {
    let folder = Self.root.appendingPathComponent("Tests")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix("Tests.swift") }
    return try names.map { try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8) }
  }

  @Test("names tests that there are, in every row")
  func names() throws {
    let page = try String(contentsOf: Self.root.appendingPathComponent("docs/http-conformance.md"), encoding: .utf8)
    let sources = try tests()
    var count = 0
    for line in page.split(separator: "\n") where line.hasPrefix("| ") && !line.hasPrefix("| ---") && !line.hasSuffix(" test |")
    {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      for reference in cells[cells.count - 1].components(separatedBy: "; ") {
        let parts = reference.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        let suite = parts[0].trimmingCharacters(in: CharacterSet(charactersIn: "`"))
        let source = sources.first { $0.contains("struct \(suite) {") }
        #expect(source != nil, "no suite \(suite): \(line)")
        if parts.count > 1 { #expect(source?.contains(parts[1]) == true, "\(suite) has no test '\(parts[1])'") }
        count += 1
      }
    }
    #expect(count > 60)
  }
}
