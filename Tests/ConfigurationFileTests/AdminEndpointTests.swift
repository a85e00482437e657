import Settings
import Testing

@testable import ConfigurationFile

@Suite("Where the admin listener is")
struct AdminEndpointTests {
  private func endpoint(_ text: String) throws -> ListenerSettings.Endpoint {
    let folder = try Folder()
    return try ConfigurationFile.adminEndpoint(path: try folder.write("proxy.conf", text))
  }

  @Test(
    "is told whatever else is wrong with the file",
    arguments: ["admin: 127.0.0.1:9128\n", "unknown: 1\ncredentials: 5\nadmin: {address: 127.0.0.1:9128}\n"])
  func found(_ text: String) throws { #expect(try endpoint(text) == .tcp(host: "127.0.0.1", port: 9128)) }

  @Test(
    "or why it cannot be told, and nothing about the rest",
    arguments: [
      ("unknown: 1\nlimits: 5\n", ": the configuration has no admin listener ('admin')"),
      (
        "unknown: 1\nadmin: here\n",
        ":2:8: error: admin: 'here' needs a port, as in 127.0.0.1:3128; unix:/path and fd:3 are possible, too"
      ),
      ("unknown: 1\nadmin: {adress: 127.0.0.1:1}\n", ":2:9: error: unknown key 'adress' in admin (did you mean 'address'?)"),
      ("- admin\n", ":1:1: error: the configuration must be a mapping, not a list"),
    ])
  func notFound(_ text: String, _ reason: String) {
    let error = #expect(throws: SecretError.self) { try endpoint(text) }
    #expect(error?.description.hasSuffix(reason) == true, "\(error?.description ?? "no error")")
  }
}
