import Foundation
import Testing

/// The README's five lines for an app that can only use https:// URLs, and the app below them.
@Suite struct PeerReadmeTests {
  @Test(.needs("python3")) func `the five lines make an https-only Python app work, as printed`() throws {
    let readme = try String(contentsOfFile: Surroundings.root + "/README.md", encoding: .utf8)
    let snippet = try #require(
      readme.components(separatedBy: "```yaml\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
        .first { $0.contains("generate: ca") })
    #expect(snippet.split(separator: "\n").count == 5)
    let commands = readme.components(separatedBy: "generate: ca").last?.components(separatedBy: "\n\n").dropFirst().first
    let lines = try #require(commands).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    try #require(lines.count == 2)
    // The port may be taken, and the origin is the test's.
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    let configuration = snippet.replacing("127.0.0.1:3128", with: "127.0.0.1:0")
      .replacing(#"match: "https://api.example.com""#, with: #"match: "https://api.example.com", origin: "\#(origin)""#)
    let proxy = try ProxyProcess(configuration, environment: ["API_TOKEN": Configuration.token])
    defer { proxy.stop() }
    let told = try ProxyProcess.complete(configuration.replacing("127.0.0.1:0", with: "127.0.0.1:\(proxy.port)"))
    try ProxyProcess.write(told, to: proxy.folder + "/proxy.conf")
    // The program is on the PATH once it is installed.
    let folder = URL(fileURLWithPath: Surroundings.program).deletingLastPathComponent().path
    let script = #"cd "$1"; PATH="$2:$PATH"; API_TOKEN=other; export API_TOKEN"# + "\n"
    let python = lines[1].replacing("/v1/invoices", with: "/echo")
    let app = try Peer.sh(script + lines[0] + "\n" + python, [proxy.folder, folder])
    #expect(app.status == .exited(0), "\(app.errors)")
    #expect(app.output.contains("Bearer \(Configuration.token)"))
    let untold = try Peer.sh(script + lines[0] + "\nunset SSL_CERT_FILE\n" + python, [proxy.folder, folder])
    #expect(untold.status == .exited(1) && untold.errors.contains("CERTIFICATE_VERIFY_FAILED"), "\(untold)")
  }
}
