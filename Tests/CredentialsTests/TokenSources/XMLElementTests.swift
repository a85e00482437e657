import Testing

@testable import Credentials

@Suite("The XML of AWS is read, and no other")
struct XMLElementTests {
  private static let answer = """
    <AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <AssumeRoleResult>
        <AssumedRoleUser><AssumedRoleId>A:s</AssumedRoleId><Arn>arn:aws:sts::1:assumed-role/r/s</Arn></AssumedRoleUser>
        <Credentials>
          <AccessKeyId>ASIAKEY</AccessKeyId>
          <SecretAccessKey>se/cret+</SecretAccessKey>
          <SessionToken>to&#x2b;ken==</SessionToken>
          <Expiration>2026-11-22T09:00:00Z</Expiration>
        </Credentials>
        <PackedPolicySize>6</PackedPolicySize>
      </AssumeRoleResult>
      <ResponseMetadata><RequestId>c6104cbe</RequestId></ResponseMetadata>
    </AssumeRoleResponse>
    """

  @Test("keys of STS")
  func keys() throws {
    let issued = try IssuedAWSKeys.sts(bytes(Self.answer), action: "AssumeRole")
    #expect(
      issued.keys == AWSKeys(accessKeyID: "ASIAKEY", secretAccessKey: Secret("se/cret+"), sessionToken: Secret("to+ken==")))
    #expect(issued.expiry == 1_795_338_000)
    #expect(throws: IssuedAWSKeys.Unfit.self) { try IssuedAWSKeys.sts(bytes(Self.answer), action: "AssumeRoleWithWebIdentity") }
  }

  @Test("half an answer is none, wherever it ends")
  func half() {
    let whole = bytes(Self.answer)
    for length in 0..<(whole.count) where length < whole.count {
      #expect(throws: IssuedAWSKeys.Unfit.self) { try IssuedAWSKeys.sts(Array(whole[..<length]), action: "AssumeRole") }
    }
  }

  static let good: [(String, XMLElement)] = [
    ("<a/>", XMLElement(name: "a")), ("<?xml version=\"1.0\"?>\n<a />\n", XMLElement(name: "a")),
    ("<n:a x='<'/>".replacing("<'", with: ">'"), XMLElement(name: "a")), ("<a> b </a>", XMLElement(name: "a", text: "b")),
    ("<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;</a>", XMLElement(name: "a", text: "<&>\"'AB")),
    ("<a>\n<b>1</b><b/></a>", XMLElement(name: "a", children: [XMLElement(name: "b", text: "1"), XMLElement(name: "b")])),
    ("\u{feff}<a>ü</a>", XMLElement(name: "a", text: "ü")),
  ]

  @Test("elements", arguments: good)
  func read(_ text: String, _ element: XMLElement) throws { #expect(try XMLElement.parse(bytes(text)) == element) }

  static let bad = [
    "", " ", "x", "<", "<a", "<a>", "<a></b>", "<a><b></a></b>", "<a/><b/>", "<a/>x", "<a b/>", "<a b=c/>", "<a b='c/>",
    "<a b='<'/>",
    "<a>x<b/></a>", "<a>&nope;</a>", "<a>&#0;</a>", "<a>&#xd800;</a>", "<a>&#+65;</a>", "<a>&", "<a>&amp</a>",
    "<!DOCTYPE a><a/>",
    "<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>", "<a><![CDATA[x]]></a>", "<a><!-- x --></a>", "<a><?p?></a>", "<?xml ", "{}",
    "< a/>",
    String(repeating: "<a>", count: 17) + String(repeating: "</a>", count: 17),
    "<a>" + String(repeating: "<b/>", count: 1_000) + "</a>",
    "<a>" + String(repeating: "x", count: XMLElement.longest) + "</a>",
  ]

  @Test("what STS never writes is refused", arguments: bad)
  func refused(_ text: String) { #expect(throws: XMLElement.Malformed.self) { try XMLElement.parse(bytes(text)) } }

  @Test("noise never makes keys, and never traps")
  func noise() {
    var random = SystemRandomNumberGenerator()
    let whole = bytes(Self.answer)
    for _ in 0..<2_000 {
      var text = whole
      for _ in 0..<3 { text[Int.random(in: 0..<text.count, using: &random)] = UInt8.random(in: 0...255, using: &random) }
      if let issued = try? IssuedAWSKeys.sts(text, action: "AssumeRole") {
        #expect(TokenResponse.isAccessToken(issued.keys.secretAccessKey.bytes))
      }
    }
  }

  @Test("an error of STS, and what is shown of it")
  func error() throws {
    func error(_ code: String, _ message: String) -> [UInt8] {
      bytes(
        "<ErrorResponse><Error><Type>Sender</Type><Code>\(code)</Code><Message>\(message)</Message></Error></ErrorResponse>")
    }
    let denied = try #require(STSError(error("AccessDenied", "User: arn:aws:iam::1:user/x has 5ecret-token")))
    #expect(denied.text(hiding: [Secret("5ecret-token")]) == "AccessDenied (User: arn:aws:iam::1:user/x has ***)")
    #expect(!denied.isTransient)
    #expect(STSError(error("SignatureDoesNotMatch", "canonical: 5ecret"))?.text(hiding: []) == "SignatureDoesNotMatch")
    #expect(STSError(error("Throttling", ""))?.isTransient == true)
    #expect(STSError(bytes("<html/>")) == nil)
  }

  static let times: [(String, Int64?)] = [
    ("1970-01-01T00:00:00Z", 0), ("2026-11-22T09:00:00Z", 1_795_338_000), ("2024-02-29T23:59:59.123456Z", 1_709_251_199),
    ("2000-03-01T00:00:00+00:00", 951_868_800), ("2026-11-22T09:00:00", nil), ("2026-11-22T09:00:00+01:00", nil),
    ("2026-11-22 09:00:00Z", nil), ("2026-13-22T09:00:00Z", nil), ("2026-11-22T24:00:00Z", nil), ("2026-11-22T09:00:00.Z", nil),
    ("never", nil), ("", nil), ("2026-11-22T09:00:00Zx", nil), ("-026-11-22T09:00:00Z", nil),
  ]

  @Test("times", arguments: times)
  func time(_ text: String, _ seconds: Int64?) { #expect(UTCInstant.parse(text) == seconds) }
}
