extension WayTable {
  /// What `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say.
  public struct Environment: Sendable, Hashable {
    /// A variable and the parent that it names.
    public struct Parent: Sendable, Hashable {
      /// As it is set: `https_proxy` or `HTTPS_PROXY`.
      public var variable: String
      public var name: Name
      public init(variable: String, name: Name) {
        self.variable = variable
        self.name = name
      }
    }

    /// An item of `no_proxy`.
    public struct Exception: Sendable, Hashable {
      /// As written.
      public var text: String
      public var pattern: WayPattern
      public init(text: String, pattern: WayPattern) {
        self.text = text
        self.pattern = pattern
      }
    }

    /// What decided.
    public enum Rule: Sendable, Hashable {
      /// This variable names the parent.
      case variable(String)
      /// This item of `no_proxy`.
      case exception(String)
      /// No variable is for this scheme.
      case unset
    }

    /// For https:// and for tunnels.
    public var https: Parent?
    /// For http://.
    public var http: Parent?
    /// For a scheme without a variable of its own.
    public var all: Parent?
    public var exceptions: [Exception]

    public init(https: Parent? = nil, http: Parent? = nil, all: Parent? = nil, exceptions: [Exception] = []) {
      self.https = https
      self.http = http
      self.all = all
      self.exceptions = exceptions
    }

    func way(host: String, address: [UInt8]?, port: UInt16, isTLS: Bool) -> (Name, Rule) {
      guard let parent = (isTLS ? https : http) ?? all else { return (.direct, .unset) }
      if let exception = exceptions.first(where: { $0.pattern.matches(host: host, address: address, port: port) }) {
        return (.direct, .exception(exception.text))
      }
      return (parent.name, .variable(parent.variable))
    }
  }
}
