import Foundation
import Testing

/// In a table of `docs` whose last column is `test`, each row names a suite and a part of a test's name: `Suite`: part. Both
/// must exist.
@Suite("Pages that name tests")
struct PageTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  /// Every table of these pages, and of pages whose name ends with `-lifecycle.md`, must have that column.
  private static let wholePages: Set = ["http-conformance.md"]

  struct Row: CustomTestStringConvertible {
    var page: String
    var cells: [String]
    var namesTests: Bool
    var testDescription: String { "\(page): \(cells.prefix(2).joined(separator: " | "))" }
  }

  private static func rows(of page: String) throws -> [Row] {
    let text = try String(contentsOf: root.appendingPathComponent("docs/\(page)"), encoding: .utf8)
    var rows: [Row] = []
    var head: [String]?
    for line in text.components(separatedBy: "\n") {
      guard line.hasPrefix("|") else {
        head = nil
        continue
      }
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
        .map { $0.trimmingCharacters(in: .whitespaces) }
      if head == nil {
        head = cells
      } else if !line.hasPrefix("| ---") {
        rows.append(Row(page: page, cells: cells, namesTests: head?.last == "test"))
      }
    }
    return rows
  }

  private static func pages() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent("docs").path)
      .filter { $0.hasSuffix(".md") }.sorted()
  }

  /// Names of tests, and of cases in their tables, by suite.
  private static func tests() throws -> [String: [String]] {
    let folder = root.appendingPathComponent("Tests")
    var tests: [String: [String]] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where name.hasSuffix("Tests.swift") {
      let source = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
      let names =
        source.matches(of: /@Test\(\s*"((?:[^"\\]|\\.)*)"/).map { String($0.1) }
        + source.matches(of: /func `([^`]+)`/).map { String($0.1) }
        + source.matches(of: /\bname: "((?:[^"\\]|\\.)*)"/).map { String($0.1) }
      for suite in source.matches(of: /(?:struct|class) (\w+Tests)\b/) { tests[String(suite.1), default: []] += names }
    }
    return tests
  }

  @Test("every reference is a suite, and a part of the name of one of its tests")
  func references() throws {
    let tests = try Self.tests()
    var counts: [String: Int] = [:]
    for page in try Self.pages() {
      for row in try Self.rows(of: page) where row.namesTests {
        for reference in (row.cells.last ?? "").components(separatedBy: "; ") {
          let parts = reference.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
          let suite = parts.first?.trimmingCharacters(in: CharacterSet(charactersIn: "`")) ?? ""
          let names = tests[suite]
          #expect(names != nil, "\(row.testDescription): no suite '\(suite)'")
          if let names, parts.count > 1 {
            #expect(names.contains { $0.contains(parts[1]) }, "\(row.testDescription): \(suite) has no test '\(parts[1])'")
          }
          counts[page, default: 0] += 1
        }
      }
    }
    #expect(counts["http-conformance.md", default: 0] > 60)
    #expect(counts["credential-lifecycle.md", default: 0] > 30)
    #expect(counts["caching.md", default: 0] > 45)
  }

  @Test("every row of a life cycle, and of the conformance page, names a test")
  func complete() throws {
    for page in try Self.pages() where Self.wholePages.contains(page) || page.hasSuffix("-lifecycle.md") {
      for row in try Self.rows(of: page) {
        #expect(row.namesTests && row.cells.last?.hasPrefix("`") == true, "\(row.testDescription) names no test")
      }
    }
  }
}
