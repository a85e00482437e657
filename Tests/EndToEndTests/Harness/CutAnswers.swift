/// The answers that CutAnswerTests cuts. `¦` marks the places.
enum CutAnswers {
  private static let status = "HTTP/1¦.1 200 OK\r\n"

  private static let text = String(repeating: "gzip ", count: 20)
  /// The text in gzip, with cuts in its data and in its sum.
  private static let squeezed: [String] = {
    let gzip = StoredGzip.pieces(text)
    let sum = gzip.sum.unicodeScalars
    return [
      gzip.head, String(gzip.data.prefix(50)), String(gzip.data.dropFirst(50)), String(sum.prefix(4)), String(sum.dropFirst(4)),
    ]
  }()
  private static let count = squeezed.reduce(0) { $0 + $1.unicodeScalars.count }
  private static let gzip = "Content-Encoding: gzip\r\nContent-Length: \(count)\r\n\r\n"

  static let relayed: [CutAnswer] = {
    let chunks = squeezed.map { String($0.unicodeScalars.count, radix: 16) + "\r\n" + $0 + "\r\n" }
    return [
      CutAnswer(
        name: "Content-Length", pieces: CutAnswer.at(status + "Content-¦Length: 10\r\n\r¦\n¦hello¦worl¦d"), body: "helloworld"),
      CutAnswer(
        name: "chunked",
        pieces: CutAnswer.at(
          status + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n¦5¦\r¦\nhel¦lo¦\r\n¦a;x=y\r\nworldworld¦\r\n¦0¦\r\n"
            + "¦X-T: ¦1\r\n¦\r\n"),
        body: "helloworldworld", trailers: ["X-T: 1"]),
      CutAnswer(
        name: "close-delimited", pieces: CutAnswer.at(status + "\r\n¦hello¦world"), body: "helloworld", endsByClose: true),
      CutAnswer(name: "HEAD", method: "HEAD", pieces: CutAnswer.at(status + "Content-Length: 10\r\n¦\r¦\n")),
      CutAnswer(name: "204", pieces: CutAnswer.at("HTTP/1.1 2¦04 No\r\n¦\r¦\n"), status: 204),
      CutAnswer(name: "304", pieces: CutAnswer.at("HTTP/1.1 304 No\r\n¦Content-Length: 10\r\n\r¦\n"), status: 304),
      CutAnswer(
        name: "401 without a credential", host: "open.test",
        pieces: CutAnswer.at("HTTP/1.1 401 No\r\n¦Content-Length: 2\r\n\r\n¦n¦o"), status: 401, body: "no"),
      CutAnswer(
        name: "1xx",
        pieces: CutAnswer.at("HTTP/1.1 103 Early\r\nLink: </a>¦\r\n\r\n¦HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n¦o¦k"),
        body: "ok"),
      CutAnswer(
        name: "WebSocket", fields: WebSocketTests.fields,
        pieces: CutAnswer.at("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n¦Connection: Upgrade\r\n\r\n¦hello¦world"), status: 101,
        otherProtocol: "helloworld"),
      CutAnswer(
        name: "event stream, chunked",
        pieces: CutAnswer.at(
          status + "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n¦9\r\ndata: ¦1\n\n\r\n"
            + "¦9\r\ndata: 2\n\n\r\n¦0\r\n\r\n"),
        body: "data: 1\n\ndata: 2\n\n"),
      CutAnswer(
        name: "event stream, close-delimited",
        pieces: CutAnswer.at(status + "Content-Type: text/event-stream\r\n\r\n¦data: 1\n¦\ndata: 2\n\n"),
        body: "data: 1\n\ndata: 2\n\n", endsByClose: true),
      CutAnswer(
        name: "gzip, Content-Length", pieces: ["HTTP/1.1 200 OK\r\n" + gzip] + squeezed, body: text),
      CutAnswer(
        name: "gzip, chunked",
        pieces: ["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"] + chunks + ["0\r\n\r\n"],
        body: text),
      CutAnswer(
        name: "gzip, close-delimited", pieces: ["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"] + squeezed, body: text,
        endsByClose: true),
      CutAnswer(
        name: "100, while the body waits for it", method: "POST", requestBody: String(repeating: "u", count: 100_000),
        pieces: CutAnswer.at("HTTP/1.1 1¦00 Continue\r\n¦\r\n"),
        afterwards: [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")], body: "ok"),
      CutAnswer(
        name: "larger than a block",
        pieces: CutAnswer.at(
          "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n\(filler(10_000))¦\(filler(140_000))¦\(filler(140_000))"
            + "¦\(filler(10_000))"),
        body: filler(300_000)),
    ]
  }()

  private static func filler(_ count: Int) -> String { String(repeating: "0123456789", count: count / 10) }

  static let held: [CutAnswer] = {
    let answers = [
      CutAnswer(
        name: "401, Content-Length", pieces: CutAnswer.at("HTTP/1.1 401¦ No\r\nContent-Length: 10\r\n\r¦\n¦hello¦worl¦d"),
        status: 401,
        body: "helloworld"),
      CutAnswer(
        name: "401, chunked",
        pieces: CutAnswer.at(
          "HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n¦5¦\r\nhel¦lo\r\n¦0¦\r\n¦X-T: ¦1\r\n¦\r\n"), status: 401,
        body: "hello", trailers: ["X-T: 1"]),
      CutAnswer(
        name: "401, close-delimited", pieces: CutAnswer.at("HTTP/1.1 401 No\r\n\r\n¦hello¦world"), status: 401,
        body: "helloworld", endsByClose: true),
      CutAnswer(
        name: "401 that waits on its connection",
        pieces: CutAnswer.at(
          "HTTP/1.1 401 No\r\nContent-Length: 60000\r\n\r\n\(filler(10_000))¦\(filler(25_000))¦\(filler(25_000))"),
        status: 401, body: filler(60_000)),
      CutAnswer(name: "401, gzip", pieces: ["HTTP/1.1 401 No\r\n" + gzip] + squeezed, status: 401, body: text),
      CutAnswer(
        name: "401 behind 1xx",
        pieces: CutAnswer.at("HTTP/1.1 103 Early\r\n\r\n¦HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n¦n¦o"), status: 401,
        body: "no"),
    ]
    return answers.flatMap { answer in
      var refreshed = answer
      refreshed.host = "refreshed.test"
      refreshed.next = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain"
      refreshed.status = 200
      refreshed.body = "again"
      refreshed.trailers = []
      var refused = answer
      refused.host = "refused.test"
      return [refreshed, refused]
    }
  }()

  static let retried: [CutAnswer] = {
    let pieces = [
      "HTTP/1.1 503¦ No\r\nContent-Length: 10\r\n\r¦\n¦hello¦worl¦d",
      "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n¦5¦\r\nhel¦lo\r\n¦0¦\r\n¦\r\n",
      "HTTP/1.1 503 No\r\n\r\n¦hello¦world",
      "HTTP/1.1 103 Early\r\n\r\n¦HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\n¦n¦o",
    ].map { CutAnswer.at($0) }
    return (pieces + [["HTTP/1.1 503 No\r\n" + gzip] + squeezed]).map {
      CutAnswer(
        name: "503", host: "retry.test", pieces: $0, next: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain",
        body: "again", endsByClose: !$0.joined().contains("-"))
    }
  }()
}
