import Foundation
import JSON
import Settings
import Testing

@testable import ConfigurationFile

/// check-jsonschema: a validator by other hands judges the configurations of the tests by the schema.
@Suite struct SchemaToolTests {
  private struct Sample {
    let text: String
    let node: Node
    let loaded: LoadedConfiguration
    /// nil: valid, or a mistake that a schema cannot know.
    var mistake: Diagnostic? { loaded.errors.first(where: ShapeMistake.isOne) }
  }

  private static let mistakes: [String] =
    (Mistake.ofTheWholeFile + Mistake.ofTLSListeners + Mistake.ofProxyProtocol).map(\.text)
    + [
      Mistake.ofTheProcess, Mistake.ofMisspellings, Mistake.ofAccess, Mistake.ofUpstreams, Mistake.ofRules, Mistake.ofCaches,
      Mistake.ofHTTPVersions, Mistake.ofCredentials, Mistake.ofOAuth2, Mistake.ofLogins, Mistake.ofProofs, Mistake.ofDPoP,
      Mistake.ofExchanges, Mistake.ofSigV4, Mistake.ofSources, Mistake.ofJWTs, Mistake.ofHMACs, Mistake.ofHTTPSignatures,
      Mistake.ofDigest, Mistake.ofNegotiate, Mistake.ofTargets, Mistake.ofWays, Mistake.ofTrust, Mistake.ofInterception,
    ].flatMap { $0.map(\.withListener) }
  private static let oddities: [String] =
    (Mistake.worthAWarning + Mistake.ofOddInterception + Mistake.ofOddDigest + Mistake.ofOddWays + Mistake.ofOddCaches)
    .map(\.withListener)

  private func samples(_ texts: [String]) -> [Sample] {
    texts.compactMap { text in
      Node.whole(Array(text.utf8)).map { Sample(text: text, node: $0, loaded: World.read(text)) }
    }
  }

  /// The files that it refuses, of these texts.
  private func refused(_ texts: [String]) throws -> Set<Int> {
    let folder = try Folder()
    let schema = try folder.write(
      "schema.json", String(decoding: LanguageSchema.make(version: "1.2.3").indented, as: UTF8.self))
    let files = try texts.enumerated().map { try folder.write("\($0).yaml", $1) }
    let output = try Tool.checkJSONSchema(["--schemafile", schema, "--output-format", "json"] + files)
    struct Report: Decodable {
      struct Found: Decodable, Equatable { let filename: String }
      let errors: [Found]
      let parse_errors: [Found]?
    }
    let report = try JSONDecoder().decode(Report.self, from: Data(output.utf8))
    #expect((report.parse_errors ?? []) == [], "\(output)")
    return Set(report.errors.compactMap { Int(URL(fileURLWithPath: $0.filename).deletingPathExtension().lastPathComponent) })
  }

  @Test func `it accepts what the reader accepts, the example with every key switched on among them`() throws {
    let texts = [try Example.text(), try Example.uncommented(), wholeLanguage] + Self.oddities
    let refused = try refused(texts)
    #expect(refused.map { texts[$0] } == [])
  }

  @Test func `it refuses each mistake of shape, and agrees about everything else with the judge of all other tests`() throws {
    let samples = samples(Self.mistakes)
    let refused = try refused(samples.map(\.text))
    for (index, sample) in samples.enumerated() {
      if let mistake = sample.mistake { #expect(refused.contains(index), "\(mistake) in:\n\(sample.text)") }
      let problems = SchemaJudge.language.problems(in: sample.node.delivered(.core))
      #expect(refused.contains(index) == !problems.isEmpty, "\(problems) in:\n\(sample.text)")
    }
    #expect(samples.count { $0.mistake != nil } > 80)
  }
}

private enum Tool {
  static func checkJSONSchema(_ arguments: [String]) throws -> String {
    let own =
      URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().path + "/.build-venv/bin"
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["check-jsonschema"] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["PATH": own + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: bytes, as: UTF8.self)
  }
}
