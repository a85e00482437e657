import CCurl
import CCurlShims
import EventIO
import HTTPWire
import TLS
import Trust

/// One running fetch. Confined to its loop.
public final class FetchTransfer {
  private static let headLimit = 64 << 10
  /// Most times that a transfer may wait for revocation and start again.
  private static let passes = 3

  private let fetch: HTTPFetch
  private let trust: TrustMaterial?
  private let identity: TLSIdentity?
  private let gate: (any FetchGate)?
  /// Behind which the server lies; nil: it is reached directly.
  private let passage: (any FetchPassage)?
  private var completion: ((HTTPFetch.Outcome) -> Void)?
  weak var channel: FetchChannel?
  /// While it runs.
  var deadline: FetchDeadline?
  private(set) var easy: UnsafeMutableRawPointer?
  private var fieldList: UnsafeMutablePointer<curl_slist>?
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  private var body: [UInt8] = []
  private var lines = FetchLines()
  private var headSize = 0
  private var isTooLarge = false
  private var handshake: ForeignHandshake?
  private var refusal: PeerRefusal?
  private var wait: ((@escaping () -> Void) -> Void)?
  private var sawForbiddenAddress = false
  private var pass = 0
  private var isLate = false

  init(
    _ fetch: HTTPFetch, _ trust: TrustMaterial?, _ identity: TLSIdentity?, _ gate: (any FetchGate)?,
    _ passage: (any FetchPassage)?, _ completion: @escaping (HTTPFetch.Outcome) -> Void
  ) {
    self.fetch = fetch
    self.trust = trust
    self.identity = identity
    self.gate = gate
    self.passage = passage
    self.completion = completion
    errorText.pointee = 0
  }

  deinit {
    passage?.close()
    if let easy { ccurl_easy_cleanup(easy) }
    if let fieldList { ccurl_list_free(fieldList) }
    errorText.deallocate()
  }

  /// Cancels: the completion will not be called. Do not call it inside a gate.
  public func cancel() {
    completion = nil
    channel?.cancel(self)
    passage?.close()
  }

  func finish(_ outcome: HTTPFetch.Outcome) {
    let completion = completion
    self.completion = nil
    passage?.close()
    completion?(outcome)
  }

  // MARK: Preparation

  /// The handle with all its options; nil if an option cannot be set. Nothing is sent with fewer options.
  func prepare() -> UnsafeMutableRawPointer? {
    if let easy { return easy }
    guard let easy = ccurl_easy_init() else { return nil }
    self.easy = easy
    return setOptions(easy) ? easy : nil
  }

  private func setOptions(_ easy: UnsafeMutableRawPointer) -> Bool {
    let object = Unmanaged.passUnretained(self).toOpaque()
    var codes: [CURLcode] = []
    func set(_ option: CURLoption, _ value: Int) { codes.append(ccurl_set_long(easy, option, value)) }
    func set(_ option: CURLoption, _ value: String?) { codes.append(ccurl_set_text(easy, option, value)) }
    func set(_ option: CURLoption, object: UnsafeMutableRawPointer) { codes.append(ccurl_set_object(easy, option, object)) }

    set(CURLOPT_PRIVATE, object: object)
    set(CURLOPT_ERRORBUFFER, object: errorText)
    set(CURLOPT_URL, fetch.url)
    set(CURLOPT_PROTOCOLS_STR, trust == nil ? "http" : "http,https")
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // The environment may name this very proxy as a proxy, and the user's own files must not be read.
    set(CURLOPT_PROXY, "")
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    if fetch.stream != nil {
      // Seconds: a stream may be silent for long, and a connection that leads nowhere is found within two minutes.
      set(CURLOPT_TCP_KEEPIDLE, 30)
      set(CURLOPT_TCP_KEEPINTVL, 10)
    }
    if let passage { set(CURLOPT_ABSTRACT_UNIX_SOCKET, passage.name) }
    // A passage is for one transfer.
    if !fetch.sharesConnections || passage != nil {
      set(CURLOPT_FRESH_CONNECT, 1)
      set(CURLOPT_FORBID_REUSE, 1)
    }

    // The proxy's own evaluation judges, in the verify callback that the context hook installs. Without it no handshake
    // succeeds.
    set(CURLOPT_SSL_VERIFYPEER, 0)
    set(CURLOPT_SSL_VERIFYHOST, 0)
    set(CURLOPT_CAINFO, nil as String?)
    set(CURLOPT_CAPATH, nil as String?)
    set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    codes.append(ccurl_set_context(easy, Self.contextHook))
    set(CURLOPT_SSL_CTX_DATA, object: object)
    codes.append(ccurl_set_prerequest(easy, Self.prerequest))
    set(CURLOPT_PREREQDATA, object: object)
    if fetch.permits != nil, passage == nil {
      codes.append(ccurl_set_open_socket(easy, Self.openSocket))
      set(CURLOPT_OPENSOCKETDATA, object: object)
    }

    codes.append(ccurl_set_write(easy, CURLOPT_WRITEFUNCTION, Self.write))
    set(CURLOPT_WRITEDATA, object: object)
    codes.append(ccurl_set_write(easy, CURLOPT_HEADERFUNCTION, Self.header))
    set(CURLOPT_HEADERDATA, object: object)

    set(CURLOPT_USERAGENT, "authproxy")
    if fetch.method != .get {
      set(CURLOPT_POST, 1)
      if fetch.method == .put { set(CURLOPT_CUSTOMREQUEST, "PUT") }
      if fetch.method == .patch { set(CURLOPT_CUSTOMREQUEST, "PATCH") }
      codes.append(ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(fetch.body.count)))
      fetch.body.withUnsafeBytes { bytes in
        // COPYPOSTFIELDS with a null pointer would read a string.
        codes.append(
          ccurl_set_object(easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress.map { UnsafeMutableRawPointer(mutating: $0) }))
      }
    }
    var fields = fetch.fields.map { Array("\($0.name): ".utf8) + $0.value } + [Array("Expect:".utf8)]
    // libcurl's own default names a form.
    if fetch.method == .put { fields.append(Array("Content-Type:".utf8)) }
    for field in fields {
      guard !field.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else { return false }
      let longer = (field + [0]).withUnsafeBufferPointer { bytes in
        bytes.withMemoryRebound(to: CChar.self) { ccurl_list_append(fieldList, $0.baseAddress) }
      }
      guard let longer else { return false }
      fieldList = longer
    }
    codes.append(ccurl_set_list(easy, fieldList))
    return codes.allSatisfy { $0 == CURLE_OK }
  }

  // MARK: libcurl's callbacks. Each runs inside a call of the channel, which keeps this object alive.

  private static func of(_ object: UnsafeMutableRawPointer) -> FetchTransfer {
    Unmanaged<FetchTransfer>.fromOpaque(object).takeUnretainedValue()
  }

  private static let write: curl_write_callback = { bytes, size, count, object in
    guard let bytes, let object else { return 0 }
    let transfer = FetchTransfer.of(object)
    let length = size * count
    if let stream = transfer.fetch.stream, transfer.isSuccess {
      guard transfer.lines.append(UnsafeRawBufferPointer(start: bytes, count: length), limit: stream.lineLimit) else {
        transfer.isTooLarge = true
        return 0
      }
      transfer.channel?.hasNews(transfer)
      return length
    }
    guard transfer.body.count + length <= transfer.fetch.limitBytes else {
      transfer.isTooLarge = true
      return 0
    }
    transfer.body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: length))
    return length
  }

  private static let header: curl_write_callback = { bytes, size, count, object in
    guard let object else { return 0 }
    let transfer = FetchTransfer.of(object)
    let length = size * count
    transfer.headSize += length
    guard transfer.headSize <= FetchTransfer.headLimit else {
      transfer.isTooLarge = true
      return 0
    }
    // The empty line that ends the head.
    if transfer.fetch.stream != nil, length <= 2, let first = bytes?.pointee, first == 13 || first == 10, transfer.isSuccess {
      transfer.lines.headArrived()
      transfer.channel?.hasNews(transfer)
    }
    return length
  }

  private static let contextHook: curl_ssl_ctx_callback = { _, context, object in
    guard let object, let context else { return CURLE_ABORTED_BY_CALLBACK }
    return FetchTransfer.of(object).install(on: context) ? CURLE_OK : CURLE_ABORTED_BY_CALLBACK
  }

  private static let prerequest: curl_prereq_callback = { object, _, _, _, _ in
    guard let object else { return Int32(CURL_PREREQFUNC_ABORT) }
    return FetchTransfer.of(object).mayProceed() ? Int32(CURL_PREREQFUNC_OK) : Int32(CURL_PREREQFUNC_ABORT)
  }

  private static let openSocket: curl_opensocket_callback = { object, _, address in
    // -1 is CURL_SOCKET_BAD.
    guard let object, let address else { return -1 }
    let transfer = FetchTransfer.of(object)
    let isPermitted = withUnsafePointer(to: &address.pointee.addr) { sockaddr in
      guard let address = Address(sockaddr), let permits = transfer.fetch.permits else { return false }
      return permits(address)
    }
    guard isPermitted else {
      transfer.sawForbiddenAddress = true
      return -1
    }
    return Socket.stream(family: address.pointee.family)
  }

  private func install(on context: UnsafeMutableRawPointer) -> Bool {
    guard let trust, let host = (try? HTTPURL(fetch.url))?.host else { return false }
    do {
      handshake = try ForeignHandshake.install(
        on: context, host: host, anchors: trust.anchors, verifier: trust.evaluation,
        minimumVersion: trust.evaluation.policy.minimumVersion.protocolVersion,
        requestsStaple: gate != nil && trust.evaluation.policy.checksRevocation, identity: identity)
      return true
    } catch { return false }
  }

  /// The last check before the request's first byte.
  private func mayProceed() -> Bool {
    if let latest = fetch.notAfter, bootTimeMilliseconds() >= latest {
      isLate = true
      return false
    }
    guard fetch.url.prefix(6).lowercased() == "https:" else { return true }
    guard let trust, let easy, let ssl = ccurl_ssl(easy), let handshake = ForeignHandshake.of(ssl: ssl) else { return false }
    self.handshake = handshake
    if let refusal = handshake.refusal {
      self.refusal = refusal
      return false
    }
    // A verifier that was never called has judged nothing.
    guard !handshake.peerChain.isEmpty else { return false }
    guard let gate else { return true }
    switch gate.judge(handshake, staple: ForeignHandshake.stapledOCSP(ssl: ssl), under: trust) {
    case .pass: return true
    case .refuse(let refusal):
      self.refusal = refusal
      return false
    case .wait(let wait):
      self.wait = wait
      return false
    }
  }

  // MARK: Streams

  private var isSuccess: Bool { easy.map { (200..<300).contains(ccurl_status($0)) } ?? false }

  /// Tells what has arrived. Outside of libcurl: who is told may cancel this transfer.
  func deliver() {
    guard completion != nil, let stream = fetch.stream, lines.hasNews else { return }
    let (began, whole) = lines.take()
    if began { stream.began() }
    for line in whole {
      guard completion != nil else { return }
      stream.line(line)
    }
  }

  // MARK: End

  /// Milliseconds.
  var timeout: Int { max(fetch.timeout, 1) }

  func timeUp() {
    channel?.cancel(self)
    finish(.failure(passage?.timeUp().map { .unreachable($0) } ?? .timedOut))
  }

  func ended(_ code: CURLcode) {
    if let wait {
      self.wait = nil
      pass += 1
      guard pass < Self.passes else { return finish(.failure(.unreachable("its revocation status could not be determined"))) }
      body = []
      headSize = 0
      let channel = channel
      return wait { [weak self, weak channel] in
        guard let self, self.completion != nil, let channel else { return }
        channel.start(self)
      }
    }
    guard let easy else { return finish(.failure(.unreachable("no handle"))) }
    switch code {
    case CURLE_OK:
      let seconds = ccurl_retry_after(easy)
      finish(
        .success(
          HTTPFetch.Answer(
            status: ccurl_status(easy), retryAfter: seconds > 0 ? Int64(seconds) : nil,
            dpopNonce: field("DPoP-Nonce"), date: date, metadataFlavor: field("Metadata-Flavor"), body: body)))
    case _ where isLate: finish(.failure(.tooLate))
    case _ where isTooLarge: finish(.failure(.tooLarge))
    case CURLE_OPERATION_TIMEDOUT: finish(.failure(passage?.timeUp().map { .unreachable($0) } ?? .timedOut))
    case _ where passage?.failure != nil: finish(.failure(.unreachable(passage?.failure ?? "")))
    case _ where sawForbiddenAddress: finish(.failure(.addressForbidden))
    case _ where (refusal ?? handshake?.refusal) != nil:
      if let refusal = refusal ?? handshake?.refusal { finish(.failure(.untrusted(refusal))) }
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING,
      CURLE_PARTIAL_FILE:
      finish(.failure(.malformed(text(of: code))))
    default: finish(.failure(.unreachable(text(of: code))))
    }
  }

  /// The value of a field that the response has once.
  private func field(_ name: String) -> String? {
    guard let easy else { return nil }
    return ccurl_only_field(easy, name).map { String(cString: $0) }
  }

  private var date: Int64? {
    guard field("Age") == nil, var text = field("Date") else { return nil }
    return text.withUTF8 { parseHTTPDate(UnsafeRawBufferPointer($0), now: wallClockSeconds()) }
  }

  private func text(of code: CURLcode) -> String {
    let text =
      if errorText.pointee != 0 {
        String(cString: errorText)
      } else {
        ccurl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
      }
    // A server may refuse a client in the handshake, or later, and its alert does not always arrive.
    guard handshake?.asksForCertificate == true else { return text }
    return identity == nil
      ? "it asked for a client certificate, and there is none: \(text)" : "it asked for the client certificate: \(text)"
  }
}
