import SmallHTTP

/// What people see.
extension LoginServer {
  /// Characters of a name; there are no passwords.
  private static var longestName: Int { 40 }

  private static func name(_ form: [String: String]) -> String? {
    let name = form["name"] ?? ""
    let isPlain = name.unicodeScalars.allSatisfy { $0.isASCII && $0.value > 0x20 && $0.value < 0x7f }
    return isPlain && (1...longestName).contains(name.count) ? name : nil
  }

  private static func problem(_ text: String) -> ServedAnswer {
    var page = HTMLPage("This does not work")
    page.paragraph(text)
    return page.answer(400)
  }

  private static let noName = "The name must have 1 to 40 letters, digits or signs, and no space."

  // MARK: In the browser of this machine

  func showAuthorization(_ request: ServedRequest) -> ServedAnswer {
    let query = Form.decode(request.query)
    if let uri = query["request_uri"] {
      // A page that is loaded again shows the same request.
      guard query["client_id"] == clientID, let pushed = desk.request(uri) else {
        return Self.problem("This request is unknown, was used, or has expired. Begin again.")
      }
      return Self.page(pushed, uri)
    }
    do throws(LoginRequest.Problem) {
      let direct = try LoginRequest(
        query, isRepetitive: Form.hasRepeatedName(request.query), client: clientID, proven: nil)
      guard let uri = desk.push(direct) else { return Self.problem("There are no random bytes.") }
      return Self.page(direct, uri)
    } catch {
      switch error {
      case .unanswerable(let why): return Self.problem(why)
      case .refused(let code, let why, let redirectURI, let state):
        return redirect(to: redirectURI, state: state, [("error", code), ("error_description", why)])
      }
    }
  }

  private static func page(_ request: LoginRequest, _ uri: String) -> ServedAnswer {
    var page = HTMLPage("Log in to the demo")
    let scope = request.scope.isEmpty ? "nothing more" : request.scope
    page.paragraph("The app \(request.clientID) wants to act for you. It asks for: \(scope)")
    page.paragraph("There is no password. Type any name.")
    page.decision(at: Place.authorize.rawValue, [(nil, "request", uri), ("Name", "name", "ann")])
    return page.answer()
  }

  func decideAuthorization(_ form: [String: String]) -> ServedAnswer {
    let name = Self.name(form)
    // A wrong name leaves the request for a better one.
    if form["decision"] == "allow", name == nil { return Self.problem(Self.noName) }
    guard let request = desk.take(request: form["request"] ?? "") else {
      return Self.problem("This request is unknown, was used, or has expired. Begin again.")
    }
    guard form["decision"] == "allow", let name else {
      say("a person denied the login")
      return redirect(to: request.redirectURI, state: request.state, [("error", "access_denied")])
    }
    guard let code = desk.agree(request, person: name) else { return Self.problem("There are no random bytes.") }
    say("\(name) allowed the login")
    return redirect(to: request.redirectURI, state: request.state, [("code", code)])
  }

  private func redirect(to url: String, state: String?, _ fields: [(name: String, value: String)]) -> ServedAnswer {
    let all = fields + (state.map { [("state", $0)] } ?? []) + [("iss", issuer)]
    var answer = HTMLPage("Go on").answer(303)
    answer.fields.append(("Location", Form.append(all, to: url)))
    return answer
  }

  // MARK: In the browser of another device

  func showDevice(userCode: String) -> ServedAnswer {
    var page = HTMLPage("Log in to the demo on another device")
    page.paragraph("Allow this only if your terminal shows the same code. There is no password. Type any name.")
    page.decision(at: Place.device.rawValue, [("Code", "user_code", userCode), ("Name", "name", "ann")])
    return page.answer()
  }

  func decideDevice(_ form: [String: String]) -> ServedAnswer {
    let code = form["user_code"] ?? ""
    guard let device = devices.device(code) else {
      return Self.problem("This code is unknown, was used, or has expired.")
    }
    let isAllowed = form["decision"] == "allow"
    guard let name = Self.name(form) ?? (isAllowed ? nil : "") else { return Self.problem(Self.noName) }
    devices.decide(device.userCode, isAllowed ? .allowed(person: name) : .denied)
    say("\(isAllowed ? "\(name) allowed" : "a person denied") the login with the code \(device.userCode)")
    var page = HTMLPage(isAllowed ? "Allowed" : "Denied")
    page.paragraph("The terminal goes on within \(DeviceDesk.interval) seconds. You can close this page.")
    return page.answer()
  }
}
