/// What apps are told, so that they trust our roots: variables of their environment.
public struct AppEnvironment: Sendable, Hashable {
  public enum Format: String, Sendable, CaseIterable {
    /// For `.` and `eval`.
    case sh
    /// For `docker run --env-file`, which knows no quotes.
    case docker
    /// For `EnvironmentFile=`.
    case systemd
  }

  /// In this order; no value holds a line end.
  public let variables: [(name: String, value: String)]

  /// - Parameters:
  ///   - folder: where the published files are, as the app sees it.
  ///   - proxy: the URL of the proxy; nil: it is not named.
  public init(folder: String, proxy: String? = nil) {
    let bundle = "\(folder)/\(PublishedFiles.bundleName)"
    let roots = "\(folder)/\(PublishedFiles.rootsName)"
    let store = "\(folder)/\(PublishedFiles.trustStoreName)"
    var variables = Self.replacing.map { ($0, bundle) } + Self.adding.map { ($0, roots) }
    // The last one: else Java sends no password with CONNECT.
    let java = [
      "-Djavax.net.ssl.trustStore=\(store)", "-Djavax.net.ssl.trustStorePassword=\(JavaKeyStore.password)",
      "-Djdk.http.auth.tunneling.disabledSchemes=",
    ]
    variables.append(("JAVA_TOOL_OPTIONS", java.joined(separator: " ")))
    if let proxy { variables += [("http_proxy", proxy), ("https_proxy", proxy)] }
    self.variables = variables
  }

  /// They name the file that replaces an app's roots.
  private static let replacing = [
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "PIP_CERT", "CARGO_HTTP_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
  ]
  /// They name a file of roots that are added to an app's own.
  private static let adding = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"]

  /// One assignment a line.
  public func text(_ format: Format) -> String {
    variables.map { name, value in
      switch format {
      case .sh:
        "export \(name)='\(value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#))'\n"
      case .docker: "\(name)=\(value)\n"
      case .systemd: "\(name)=\"\(Self.escaped(value))\"\n"
      }
    }.joined()
  }

  /// As systemd reads a text in double quotes.
  private static func escaped(_ value: String) -> String {
    var result = ""
    for character in value {
      if "\"\\`$".contains(character) { result.append("\\") }
      result.append(character)
    }
    return result
  }

  public static func == (one: AppEnvironment, other: AppEnvironment) -> Bool {
    one.variables.elementsEqual(other.variables) { $0 == $1 }
  }

  public func hash(into hasher: inout Hasher) {
    for (name, value) in variables {
      hasher.combine(name)
      hasher.combine(value)
    }
  }
}
