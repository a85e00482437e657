import Testing

@testable import ConfigurationFile

/// Endpoints that the environment names get secrets as others do: whom they trust is checked.
@Suite struct SourceTrustTests {
  private static let trust = "trust: {default: [{disabled: {}}]}\n"
  private static let container = "sigv4: {source: container, service: s3, region: r}"
  private static let azure = "cloud_identity: {cloud: azure, resource: https://vault.azure.net}"
  private static let why = "trust 'default' is disabled, so secrets may go to"
  private static let only = "only with 'allow_untrusted: true' in the credential"

  private func errors(_ kind: String, _ variable: String, _ url: String, top: String = trust, more: String = "") -> [String] {
    let text = "listen: 127.0.0.1:1\n\(top)credentials:\n  a: {\(kind)\(more)}\n"
    return ConfigurationFile.read(
      text: Array(text.utf8), name: "proxy.conf", folder: World.folder,
      environment: [variable: url, "IDENTITY_HEADER": "x"], readableByOthers: false, system: World.system
    ).errorLines
  }

  @Test func `a container's endpoint on https`() {
    let variable = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
    let found = errors(Self.container, variable, "https://keys.test/x")
    #expect(
      found == [
        "4:7: error: credentials.a.sigv4: \(Self.why) the container's endpoint for keys \(Self.only)"
      ])
    for (url, top, more) in [
      ("http://127.0.0.1/x", Self.trust, ""), ("https://keys.test/x", "", ""),
      ("https://keys.test/x", Self.trust, ", allow_untrusted: true"),
    ] { #expect(errors(Self.container, variable, url, top: top, more: more) == [], "\(url) \(top) \(more)") }
    #expect(errors(Self.container, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x") == [])
    // The keys of another source do not come from there.
    #expect(errors("sigv4: {source: environment, service: s3, region: r}", variable, "https://keys.test/x") == [])
  }

  @Test func `Azure's endpoint on https`() {
    let variable = "IDENTITY_ENDPOINT"
    let found = errors(Self.azure, variable, "https://identity.test/x")
    #expect(
      found == [
        "4:7: error: credentials.a.cloud_identity: \(Self.why) IDENTITY_ENDPOINT \(Self.only)"
      ])
    for (url, top, more) in [
      ("http://127.0.0.1/x", Self.trust, ""), ("https://identity.test/x", "", ""),
      ("https://identity.test/x", Self.trust, ", allow_untrusted: true"),
    ] { #expect(errors(Self.azure, variable, url, top: top, more: more) == [], "\(url) \(top) \(more)") }
  }
}
