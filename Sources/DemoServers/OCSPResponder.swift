import SmallHTTP

/// Says whether certificates of the demo's authority are revoked (RFC 6960), for requests by POST.
public final class OCSPResponder: Responder {
  private let authority: DemoAuthority
  private let tell: (DemoEvent) -> Void

  public init(_ authority: DemoAuthority, tell: @escaping (DemoEvent) -> Void) {
    self.authority = authority
    self.tell = tell
  }

  override public func answer(_ request: ServedRequest) -> ServedAnswer {
    guard request.method == "POST", let found = authority.answer(toOCSPRequest: request.body) else {
      return super.answer(request)
    }
    tell(DemoEvent(source: .responder, text: "the certificate of \(found.name) is \(found.isRevoked ? "REVOKED" : "good")"))
    return ServedAnswer(200, type: "application/ocsp-response", body: found.der)
  }
}
