import Settings

/// An entry of `upstreams`.
struct UpstreamKeys: KeySet {
  static let table = KeyTable(UpstreamKeys())

  let name = Key("name", .text(.name), .otherwise("the match"), "Names the entry in logs, metrics and 'allow'.")
  let match = Key(
    "match", .oneOrMore(of: .item(.match)), .required,
    "Says which requests the entry serves, by scheme, host, port and whole path segments; the most specific entry wins.")
  let methods = Key(
    "methods", .texts(.method), .otherwise("all methods"), "Lists the methods that the entry serves; others get 403.")
  let clients = Key("clients", .texts(.nameInClients), .otherwise("every client"), "Lists the clients that the entry serves.")
  let origin = Key(
    "origin", .oneOrMore(of: .item(.origin)), .otherwise("https://<host of the request>:443; the port of an https:// match"),
    "Says where the proxy sends the requests; a path takes the place of the match's prefix. Of a list it takes the first that can be "
      + "reached.")
  let stripPrefix = Key(
    "strip_prefix", .boolean, default: false, "Takes the match's prefix away from paths, instead of sending it to the origin.")
  let redirects = Key(
    "redirects", .text(.words([RedirectKeys.relay]), or: RedirectKeys.self), .text(RedirectKeys.relay),
    "Says which redirects the proxy follows itself; it relays all others.")
  let cache = Key(
    "cache", .text(.words([CacheKeys.off]), or: CacheKeys.self), .text(CacheKeys.off),
    "Stores answers in memory, and lets identical requests wait for one answer.")
  let credential = Key("credential", .text(.nameInCredentials), .otherwise("none"), "Names the credential that the proxy adds.")
  let wildcardCredential = Key(
    "wildcard_credential", .boolean, default: false,
    "Allows every host below a wildcard match to get the credential; needed without 'origin'.")
  let trust = Key(
    "trust", .text(.nameInTrust), .otherwise("the policy named 'default' if there is one, else the system's roots"),
    "Names the trust policy that the origin must satisfy.")
  let clientCertificate = Key(
    "client_certificate", .section(ClientCertificateKeys.self), .otherwise("none"),
    "The certificate that the proxy presents to the origin: mutual TLS.")
  let clientAuthorization = Key(
    "client_authorization", .choice([UpstreamSettings.ClientAuthorization.replace, .keep, .reject]), default: .replace,
    "Says what happens to what the app itself sends in the credential's field.")
  let retry = Key(
    "retry", .section(RetryKeys.self), .otherwise("its defaults"), "Sets which failed requests the proxy repeats.")
  let rewrite = Key(
    "rewrite", .section(RewriteKeys.self), .otherwise("its defaults"), "Sets what the proxy rewrites in responses.")
  let timeouts = Key(
    "timeouts", .section(UpstreamTimeoutKeys.self), .otherwise("the global 'timeouts'"),
    "Replaces global timeouts for the entry.")
  let decompress = Key(
    "decompress", .boolean, default: false,
    "Asks the origin for gzip, and decompresses for an app that did not ask for it.")
  let hostHeader = Key(
    "host_header", .choice([UpstreamSettings.HostHeader.origin, .app]), default: .origin,
    "Says which authority the proxy sends in Host; SNI is always the origin's.")
  let httpVersion = Key(
    "http_version", .httpVersion, default: .http1,
    "Says which versions of HTTP the proxy offers the origin; with 2 an origin without HTTP/2 is an error.")
  let requestHeaders = Key(
    "request_headers", .section(HeaderRuleKeys.self), .otherwise("none"),
    "Changes fields of requests: 'remove', then 'set', then the credential.")
  let responseHeaders = Key(
    "response_headers", .section(HeaderRuleKeys.self), .otherwise("none"),
    "Changes fields of answers that the proxy relays; its own stay as they are.")
  let ways = EntryWayKeys()
}

/// `upstreams.client_certificate`, and `credentials.*.oauth2.client_certificate`.
struct ClientCertificateKeys: KeySet {
  static let table = KeyTable(ClientCertificateKeys())

  let certificate = Key("certificate", .file, .required, "Names the file of the certificate, leaf first, then intermediates.")
  let key = Key("key", .secret, .required, "The certificate's private key in PEM form.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Decrypts the private key.")
}

/// `upstreams.retry`.
struct RetryKeys: KeySet {
  static let table = KeyTable(RetryKeys())
  private static let standard = UpstreamSettings.Retry()
  /// RFC 9110 section 9.2.2.
  static let idempotentMethods = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]

  let attempts = Key(
    "attempts", .integer(0...100), default: standard.attempts, "Sets how often the proxy repeats a request.")
  let methods = Key(
    "methods", .texts(of: .words(idempotentMethods)), .list(idempotentMethods.filter(standard.methods.contains)),
    "Lists the methods that the proxy may repeat.")
  let statuses = Key(
    "statuses", .statuses, default: standard.statuses, "Lists the statuses after which the proxy repeats a request.")
  let backoff = Key(
    "backoff", .duration(atLeast: 0), default: standard.backoff,
    "Sets the first pause; it doubles each time, with jitter; Retry-After overrides it.")
  let maxWait = Key(
    "max_wait", .duration(atLeast: 0), default: standard.maxWait, "Relays a response whose Retry-After is longer.")
}

/// `upstreams.rewrite`.
struct RewriteKeys: KeySet {
  static let table = KeyTable(RewriteKeys())
  private static let standard = UpstreamSettings.Rewrite()

  let location = Key(
    "location", .boolean, default: standard.location,
    "Points Location and Content-Location below the origin to the match, so that the app's next request uses the proxy.")
  let link = Key("link", .boolean, default: standard.link, "Does the same for Link.")
  let secureCookies = Key(
    "secure_cookies", .boolean, default: standard.secureCookies,
    "Drops Secure from cookies, so that an http app keeps its session cookies.")
}
