import Foundation
import Testing

/// The README's examples must work unchanged.
@Suite struct ReadmeTests {
  private func blocks(_ language: String) throws -> [String] {
    let text = try String(contentsOfFile: Surroundings.root + "/README.md", encoding: .utf8)
    var blocks: [String] = []
    var current: [String]?
    for line in text.components(separatedBy: "\n") {
      if line == "```\(language)" {
        current = []
      } else if line == "```" {
        if let lines = current { blocks.append(lines.joined(separator: "\n") + "\n") }
        current = nil
      } else {
        current?.append(line)
      }
    }
    return blocks
  }

  @Test func `every configuration in the README passes check without a warning`() throws {
    let configurations = try blocks("yaml")
    #expect(configurations.count >= 2)
    for text in configurations {
      let folder = try Surroundings.newFolder()
      try ProxyProcess.write(text, to: folder + "/proxy.conf")
      for name in ["client_secret", "billing_password"] { try ProxyProcess.write("5ecret-\(name)\n", to: "\(folder)/\(name)") }
      let done = try ChildProcess.run(
        Surroundings.program, ["check", "--config", "proxy.conf"], environment: ["API_TOKEN": "tok-5ecret"], folder: folder)
      #expect(done.status == .exited(0), "\(text)\(done.errors)")
      #expect(done.errors.isEmpty, "\(text)\(done.errors)")
      #expect(!done.output.contains("5ecret"))
    }
  }

  @Test func `every folder and file that the README names is there`() throws {
    let text = try String(contentsOfFile: Surroundings.root + "/README.md", encoding: .utf8)
    let named = text.matches(of: /[`(]((?:Sources|Tests|docs|docker)\/[A-Za-z0-9_.\/-]*|proxy\.conf\.example)[`)]/).map {
      String($0.1)
    }
    #expect(named.count >= 10)
    for path in named {
      #expect(FileManager.default.fileExists(atPath: Surroundings.root + "/" + path), "\(path)")
    }
  }
}
