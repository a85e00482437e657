import Settings

/// Whether a request was meant for the admin listener, by its Host. A page of the web can have its own name lead to this address
/// (DNS rebinding): then the browser takes what is here for a part of that page, but it still sends that name. Addresses need no
/// check, as what is rebound is a name.
struct HostCheck {
  private let hosts: Set<AdminSettings.Host>

  /// - Parameter hosts: `admin.hosts`.
  init(_ hosts: Set<AdminSettings.Host>) { self.hosts = hosts }

  /// - Parameter host: the value of Host; nil: HTTP/1.0, which no browser sends.
  func admits(_ host: String?) -> Bool {
    guard let host else { return true }
    guard let (text, port) = try? HostName.split(host), let name = try? HostName.normalized(text) else { return false }
    if name == "localhost" || IPAddress.parse(name) != nil { return true }
    return hosts.contains(AdminSettings.Host(name: name)) || hosts.contains(AdminSettings.Host(name: name, port: port ?? 80))
  }
}
