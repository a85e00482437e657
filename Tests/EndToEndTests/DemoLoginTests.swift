import Foundation
import Testing

/// Logging in to the demo, as it proposes.
@Suite struct DemoLoginTests {
  @Test func `the demo's lines log in, use the login, and log out`() throws {
    let demo = try DemoProcess()
    let lines = demo.proposedForLogin()
    try #require(lines.count == 5 && lines[0].hasPrefix("conf=") && lines[2].hasPrefix("curl http://mail."), "\(lines)")
    func run(_ line: String) throws -> ChildProcess {
      let child = try ChildProcess("sh", ["-c", lines[0] + "\n" + line], environment: ["BROWSER": "/bin/false"])
      child.closeInput()
      return child
    }
    let mail = lines[2].replacing("curl ", with: "")
    #expect(try demo.ask(mail).status == "502")
    let login = try run(lines[1])
    let url = try #require(login.awaitLine { $0.hasPrefix("http") }, "\(login.errors)")
    let page = try LoginPeer.browse(url, ["name": "ann", "decision": "allow"])
    #expect(page.contains("You are logged in to mailbox as ann"), "\(page)")
    #expect(login.awaitEnd(seconds: 10) == .exited(0), "\(login.errors)")
    #expect(try eventually(seconds: 2) { try demo.ask(mail).status == "200" })
    #expect(try demo.ask(mail).body.contains("of ann"))
    #expect(try demo.ask(mail.replacing("/hello", with: "/revoke")).status == "200")
    #expect(try demo.ask(mail).status == "200", "another token")
    let told = try run(lines[3])
    #expect(told.awaitEnd(seconds: 10) == .exited(0))
    #expect(told.output.contains("logged in") && told.output.contains("ann (subject user-ann)"), "\(told.output)")
    let logout = try run(lines[4])
    #expect(logout.awaitEnd(seconds: 10) == .exited(0) && logout.errors.contains("logged out of mailbox"), "\(logout.errors)")
    #expect(try eventually(seconds: 2) { try demo.ask(mail).status == "502" })
    // It tells what happened, and leaves nothing behind.
    for event in ["ann allowed the login", "issues token 1 to ann", "revokes a token of ann"] {
      #expect(demo.process.output.contains(event), "\(event): \(demo.process.output)")
    }
    demo.process.signal(SIGINT)
    #expect(demo.process.awaitEnd(seconds: 5) == .exited(0))
    #expect(!FileManager.default.fileExists(atPath: URL(fileURLWithPath: demo.configuration).deletingLastPathComponent().path))
  }

  @Test func `a person may log in on another device, paste the answer, or refuse`() throws {
    let demo = try DemoProcess()
    func logIn(_ options: String...) throws -> ChildProcess {
      try ChildProcess(
        Surroundings.program, ["login", "--config", demo.configuration] + options, environment: ["BROWSER": "/bin/false"])
    }
    let device = try logIn("--device")
    let first = try #require(device.awaitLine { $0.hasPrefix("http") }, "\(device.errors)")
    let code = try #require(device.awaitLine(from: 1) { _ in true })
    #expect(first.hasSuffix(code))
    let allowed = try LoginPeer.browse(first, ["name": "ann", "decision": "allow"])
    #expect(allowed.contains("The terminal goes on"), "\(allowed)")
    #expect(device.awaitEnd(seconds: 15) == .exited(0) && device.errors.contains("as ann"), "\(device.errors)")
    // Another person is refused, and the login of the first stays.
    let other = try logIn()
    let second = try #require(other.awaitLine { $0.hasPrefix("http") }, "\(other.errors)")
    let page = try LoginPeer.browse(second, ["name": "bob", "decision": "allow"])
    #expect(page.contains("--other-account"), "\(page)")
    #expect(other.awaitEnd(seconds: 10) == .exited(77))
    let denied = try logIn()
    let third = try #require(denied.awaitLine { $0.hasPrefix("http") }, "\(denied.errors)")
    #expect(try LoginPeer.browse(third, ["name": "ann", "decision": "deny"]).contains("access_denied"))
    #expect(denied.awaitEnd(seconds: 10) == .exited(77), "\(denied.errors)")
    #expect(try eventually(seconds: 2) { try demo.ask("http://mail.demo.internal/hello").body.contains("of ann") })
    // The browser is elsewhere, and cannot reach the listener: its last URL is pasted.
    let pasted = try logIn("--paste")
    let fourth = try #require(pasted.awaitLine { $0.hasPrefix("http") }, "\(pasted.errors)")
    let form = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", fourth]).output
    let request = try #require(form.firstMatch(of: #/name="request" value="([^"]+)"/#)).1
    let gone = try ChildProcess.run(
      "curl",
      [
        "-sS", "--noproxy", "*", "-o", "/dev/null", "-w", "%{redirect_url}", "--data-urlencode", "request=\(request)",
        "-d", "name=ann&decision=allow", String(fourth.prefix { $0 != "?" }),
      ])
    pasted.send(gone.output + "\n")
    #expect(pasted.awaitEnd(seconds: 10) == .exited(0), "\(gone.output)\(pasted.errors)")
  }
}
