@testable import Credentials

extension [LoginAction] {
  var requests: [TokenHTTPRequest] { compactMap { if case .fetch(_, let request) = $0 { request } else { nil } } }
  var ids: [UInt64] { compactMap { if case .fetch(let id, _) = $0 { id } else { nil } } }
  var cancelled: [UInt64] { compactMap { if case .cancelFetch(let id) = $0 { id } else { nil } } }
  var printed: [String] { compactMap { if case .print(let line) = $0 { line } else { nil } } }
  var notes: [String] { compactMap { if case .note(let line) = $0 { line } else { nil } } }
  var browsers: [String] { compactMap { if case .openBrowser(let program, _) = $0 { program } else { nil } } }
  var listeners: [RedirectURI.Listener] { compactMap { if case .listen(let listener) = $0 { listener } else { nil } } }
  var answered: [UInt64: BrowserPage] {
    var pages: [UInt64: BrowserPage] = [:]
    for case .answerBrowser(let connection, let page) in self { pages[connection] = page }
    return pages
  }
  var stores: [CompletedLogin] { compactMap { if case .store(let login) = $0 { login } else { nil } } }
  var ends: [LoginEnd] { compactMap { if case .finish(let end) = $0 { end } else { nil } } }
  var wake: Int64?? { compactMap { if case .wakeAt(let time) = $0 { .some(time) } else { nil } }.last }
  var exit: LoginExit? { ends.first?.exit }
}

extension LoginAction {
  /// One word, for tables.
  var word: String {
    switch self {
    case .fetch(_, let request): "fetch " + (request.url.split(separator: "/").last.map(String.init) ?? "")
    case .cancelFetch: "cancel"
    case .listen: "listen"
    case .print: "print"
    case .note: "note"
    case .openBrowser: "browser"
    case .answerBrowser(_, let page): "page \(page.status)"
    case .openStore: "openStore"
    case .store: "store"
    case .closeStore: "closeStore"
    case .wakeAt: "wake"
    case .finish(let end): "finish \(end.exit.rawValue)"
    }
  }
}

extension [LoginAction] {
  /// Without times.
  var words: String { map(\.word).filter { $0 != "wake" }.joined(separator: ", ") }
}
