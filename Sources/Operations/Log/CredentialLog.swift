import Logging
import Proxy

/// Logs the events of credentials: one static message per kind of event, everything else as metadata.
enum CredentialLog {
  static func write(_ name: String, _ event: CredentialEvent, to logger: Logger) {
    switch event {
    case .replaced(let version): logger.notice("credential replaced", metadata: about(name, ("version", "\(version)")))
    case .refreshed(let version, let lifetime, let byRefusal):
      logger.info(
        "token refreshed",
        metadata: about(
          name, ("version", "\(version)"), ("lifetime_seconds", "\(lifetime / 1_000)"), ("cause", byRefusal ? "refusal" : "age")
        ))
    case .adopted(let version, let lifetime, let generation?):
      logger.info(
        "token adopted",
        metadata: about(
          name, ("version", "\(version)"), ("lifetime_seconds", "\(lifetime / 1_000)"), ("generation", "\(generation)")))
    case .claimTakenOver(let holder, let generation):
      logger.warning("claim taken over", metadata: about(name, ("holder", holder), ("generation", "\(generation)")))
    case .recordPutBack(let generation):
      logger.warning("record put back", metadata: about(name, ("generation", "\(generation)")))
    case .adopted(let version, let lifetime, nil):
      logger.info(
        "token taken from the token store",
        metadata: about(name, ("version", "\(version)"), ("lifetime_seconds", "\(lifetime / 1_000)")))
    case .sameToken(let byRefusal):
      logger.warning(
        "the token server gave the same token again", metadata: about(name, ("cause", byRefusal ? "refusal" : "age")))
    case .failed(let why, let retryIn):
      logger.warning("token refresh failed", metadata: about(name, ("error", why), ("retry_in_ms", "\(retryIn)")))
    case .needsOperator(let why): logger.error("credential needs an operator", metadata: about(name, ("error", why)))
    case .needsLogin(let why, _): logger.error("credential needs a login", metadata: about(name, ("error", why)))
    case .loggedIn: logger.info("logged in", metadata: about(name))
    case .loggedOut: logger.notice("logged out", metadata: about(name))
    case .notSaved(let why):
      logger.error(
        "the new token could not be saved; the proxy uses it and tries again to save it",
        metadata: about(name, ("error", why)))
    case .lost:
      logger.error(
        "a new token is lost: it could not be saved, and a reload has removed its credential and its token store",
        metadata: about(name))
    case .subjectExchanged(let version, let lifetime):
      logger.debug(
        "a user's token was exchanged",
        metadata: about(name, ("version", "\(version)"), ("lifetime_seconds", "\(lifetime / 1_000)")))
    case .subjectRefused(let why, let client, let suspends):
      let client = client ?? "anonymous"
      logger.info("the token server refused a user's token", metadata: about(name, ("error", why), ("client", client)))
      if suspends {
        logger.warning(
          "the token server refused too many tokens of one client; its unknown ones get 429 for the rest of the minute",
          metadata: about(name, ("client", client)))
      }
    case .subjectFailed(let why, let retryIn):
      logger.warning("a token exchange failed", metadata: about(name, ("error", why), ("retry_in_ms", "\(retryIn)")))
    case .warning(let why): logger.warning("credential in use with a reservation", metadata: about(name, ("error", why)))
    case .recordSetAside: logger.error("the token store has a damaged record; the proxy set it aside", metadata: about(name))
    }
  }

  private static func about(_ name: String, _ more: (String, String)...) -> Logger.Metadata {
    var metadata: Logger.Metadata = ["credential": "\(name)"]
    for (key, value) in more { metadata[key] = "\(value)" }
    return metadata
  }
}
