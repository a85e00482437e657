import Testing

@testable import Credentials

@Suite("Where AWS keys come from")
struct AWSKeyFetchTests {
  private let environmentKeys = ["AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"]
  private let credentials = "/home/me/.aws/credentials"
  private let config = "/home/me/.aws/config"
  private let role = AWSKeySource.Role(arn: "arn:aws:iam::1:role/r", externalID: Secret("x/1"), duration: 900_000)

  // MARK: Static ones

  @Test("environment")
  func environment() {
    var driver = SourceDriver(aws: .environment, environmentKeys)
    let step = driver.start()
    #expect(step.keys == AWSKeys(accessKeyID: "AKIAENV", secretAccessKey: Secret("s"), sessionToken: Secret("t")))
    // They name no end, and are read again after an hour.
    #expect(step.grant?.lifetime == 3600)
    driver = SourceDriver(
      aws: .environment, environmentKeys.merging(["AWS_CREDENTIAL_EXPIRATION": "2026-11-22T09:10:00Z"]) { $1 })
    #expect(driver.start().grant?.lifetime == 600)
    driver = SourceDriver(
      aws: .environment, environmentKeys.merging(["AWS_CREDENTIAL_EXPIRATION": "2026-11-22T08:10:00Z"]) { $1 })
    #expect(driver.start().failure == .expiredOnArrival)
  }

  @Test(
    "a half of a pair is no pair, and the other half is not shown",
    arguments: [
      ["AWS_ACCESS_KEY_ID": "AKIA5ecret"], ["AWS_SECRET_ACCESS_KEY": "5ecret"],
      ["AWS_ACCESS_KEY_ID": "AKIA5ecret/x", "AWS_SECRET_ACCESS_KEY": "5ecret"],
      ["AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "5ecret 5ecret"],
    ])
  func half(_ environment: [String: String]) throws {
    var driver = SourceDriver(aws: .standard, environment)
    let failure = try #require(driver.start().failure)
    guard case .unfit(let text) = failure else { throw Unexpected(what: "\(failure)") }
    #expect(!text.contains("5ecret"))
  }

  private struct Unexpected: Error { let what: String }

  @Test("a profile's keys, the shared credentials before the configuration")
  func profile() {
    var driver = SourceDriver(
      aws: .profile, profile: "a",
      files: [
        config: "[profile a]\naws_access_key_id = AKIACONFIG\naws_secret_access_key = s",
        credentials: "[a]\naws_access_key_id = AKIACRED",
      ])
    #expect(driver.start().keys?.accessKeyID == "AKIACRED")
    driver = SourceDriver(
      aws: .profile, ["AWS_PROFILE": "b", "AWS_CONFIG_FILE": "~/c", "AWS_SHARED_CREDENTIALS_FILE": "/d"],
      files: ["/home/me/c": "[profile b]\naws_access_key_id = AKIAB\naws_secret_access_key = s", "/d": ""])
    #expect(driver.start().keys?.accessKeyID == "AKIAB")
  }

  @Test(
    "what is wrong with a profile",
    arguments: [
      ("[profile x]\nregion = a", "there is no profile 'p' in AWS's shared files"),
      ("[profile p]\nregion = a", "the profile 'p' has no keys"),
      ("[profile p]\naws_access_key_id = AKIA", "the profile 'p' cannot be used: it has no access key"),
      ("[profile p]\nrole_arn = r", "the profile 'p' needs either source_profile or credential_source for its role_arn"),
      (
        "[profile p]\nrole_arn = r\nsource_profile = q\n[profile q]\nrole_arn = r\nsource_profile = p",
        "the profile 'p' leads back to itself, or through too many others"
      ),
      ("[profile p]\nrole_arn = r\nsource_profile = p", "the profile 'p' has no keys"),
      ("[profile p]\nrole_arn = r\nsource_profile = q", "there is no profile 'q' in AWS's shared files"),
      ("[profile p]\nrole_arn = r\ncredential_source = Here", "the profile 'p' has an unknown credential_source"),
      (
        "[profile p]\nrole_arn = r\nsource_profile = p\nmfa_serial = m",
        "the profile 'p' asks for a code of a device (mfa_serial), which the proxy does not have"
      ),
      (
        "[profile p]\nrole_arn = r\nsource_profile = p\nduration_seconds = 5",
        "the profile 'p' has a duration_seconds that is not from 900 to 43200"
      ),
      ("[profile p]\ncredential_process = helper", "the credential_process of profile 'p' must begin with an absolute path"),
      ("[profile p]\n5ecret", "/home/me/.aws/config:2: the line is neither a section nor 'key = value'"),
      ("unreadable", "/home/me/.aws/config: Permission denied"),
    ])
  func badProfile(_ text: String, _ why: String) {
    var driver = SourceDriver(aws: .profile, profile: "p", files: [config: text])
    #expect(driver.start().failure == .unfit(why))
  }

  @Test("SSO is refused with what to do instead")
  func sso() {
    var driver = SourceDriver(aws: .profile, files: [config: "[default]\nsso_session = s"])
    #expect(driver.start().failureText?.contains("export-credentials") == true)
  }

  // MARK: Programs

  private let output =
    #"{"Version": 1, "AccessKeyId": "AKIAP", "SecretAccessKey": "s", "SessionToken": "t", "Expiration": "2026-11-22T09:30:00Z"}"#

  @Test("a program of the configuration")
  func process() {
    var driver = SourceDriver(aws: .process(.init(arguments: ["/bin/keys", "a b"])))
    driver.programs = ["/bin/keys a b": output]
    let step = driver.start()
    #expect(step.keys?.accessKeyID == "AKIAP")
    #expect(step.grant?.lifetime == 1800)
    driver.programs = [:]
    #expect(driver.start().failureText == "credential_process /bin/keys: exited with status 1")
    for bad in ["", "5ecret", "{}", #"{"Version": 2}"#, #"{"Version": 1, "AccessKeyId": 5}"#] {
      driver.programs = ["/bin/keys a b": bad]
      let text = driver.start().failureText
      #expect(text?.hasPrefix("the output of credential_process /bin/keys cannot be used: ") == true)
      #expect(text?.contains("5ecret") == false)
    }
    driver.programs = ["/bin/keys a b": output.replacing("09:30", with: "08:30")]
    #expect(driver.start().failure == .expiredOnArrival)
  }

  @Test("a profile's program runs with 'source: profile' only, and from files that others cannot write")
  func profileProcess() {
    let file = [config: "[default]\ncredential_process = /bin/keys 'a b'"]
    var driver = SourceDriver(aws: .profile, files: file)
    driver.programs = ["/bin/keys a b": output]
    #expect(driver.start().keys?.accessKeyID == "AKIAP")
    driver.foreign = [config]
    #expect(driver.start().failureText?.contains("is not run") == true)
    driver.foreign = [credentials]
    driver.files[credentials] = ""
    #expect(driver.start().failureText?.contains("is not run") == true)
    driver = SourceDriver(aws: .standard, files: file)
    driver.programs = ["/bin/keys a b": output]
    #expect(driver.start().failureText?.contains("with 'source: profile' only") == true)
    driver = SourceDriver(
      aws: .standard,
      files: [config: "[default]\nrole_arn = r\nsource_profile = b\n[profile b]\ncredential_process = /bin/keys 'a b'"])
    driver.programs = ["/bin/keys a b": output]
    #expect(driver.start().failureText?.contains("with 'source: profile' only") == true)
  }

  // MARK: default

  @Test("default takes the first that has something, in AWS's order")
  func order() {
    let web = ["AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_ROLE_ARN": "arn:r", "AWS_REGION": "eu-west-1"]
    let container = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/c"]
    let files = [credentials: "[default]\naws_access_key_id = AKIAP\naws_secret_access_key = s", "/token": "jwt\n"]
    var driver = SourceDriver(aws: .standard, environmentKeys.merging(web) { $1 }.merging(container) { $1 }, files: files)
    #expect(driver.start().keys?.accessKeyID == "AKIAENV")
    driver = SourceDriver(aws: .standard, web.merging(container) { $1 }, files: files)
    #expect(driver.start().sending?.line == "POST https://sts.eu-west-1.amazonaws.com")
    driver = SourceDriver(aws: .standard, container, files: files)
    #expect(driver.start().keys?.accessKeyID == "AKIAP")
    driver = SourceDriver(aws: .standard, container)
    #expect(driver.start().sending?.line == "GET http://169.254.170.2/c")
    driver = SourceDriver(aws: .standard)
    #expect(driver.start().sending?.line == "PUT http://169.254.169.254/latest/api/token")
    driver = SourceDriver(aws: .standard, ["AWS_EC2_METADATA_DISABLED": "TRUE"])
    #expect(driver.start().failureText?.hasPrefix("there are no AWS keys") == true)
    // A profile that somebody has named must be there.
    driver = SourceDriver(aws: .standard, container.merging(["AWS_PROFILE": "x"]) { $1 })
    #expect(driver.start().failure == .unfit("there is no profile 'x' in AWS's shared files"))
  }

  @Test("what default has chosen stays")
  func chosen() {
    var driver = SourceDriver(aws: .standard, ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/c"])
    #expect(driver.start().sending?.url == "http://169.254.170.2/c")
    #expect(driver.answer("no", status: 500).failure != nil)
    driver.files = [credentials: "[default]\naws_access_key_id = AKIAP\naws_secret_access_key = s"]
    #expect(driver.start().sending?.url == "http://169.254.170.2/c")
    driver.steps.chooseAgain()
    #expect(driver.start().keys?.accessKeyID == "AKIAP")
  }

  @Test("the metadata service, which is asked where nothing else has anything, is chosen once it has handed out keys")
  func unchosen() {
    var driver = SourceDriver(aws: .standard, [:])
    #expect(driver.start().sending?.url.hasPrefix("http://169.254.169.254/") == true)
    #expect(driver.answer("no", status: 500).failure != nil)
    driver.files = [credentials: "[default]\naws_access_key_id = AKIAP\naws_secret_access_key = s"]
    #expect(driver.start().keys?.accessKeyID == "AKIAP")
  }

  // MARK: STS

  @Test("web identity: unsigned, and its token is read for each fetch")
  func webIdentity() throws {
    var driver = SourceDriver(
      aws: .webIdentity,
      [
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_ROLE_SESSION_NAME": "pod",
        "AWS_DEFAULT_REGION": "cn-north-1",
      ],
      files: ["/token": "5ecret-jwt-1\n"])
    let request = try #require(driver.start().sending)
    #expect(request.line == "POST https://sts.cn-north-1.amazonaws.com.cn")
    #expect(request.signature == nil)
    #expect(
      request.plainForm
        == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn:aws:iam::1:role/r&RoleSessionName=pod&DurationSeconds=3600"
        + "&WebIdentityToken=5ecret-jwt-1")
    let step = driver.answer(sts("AssumeRoleWithWebIdentity", "ASIA1"))
    #expect(step.keys?.sessionToken == Secret("t-ASIA1"))
    #expect(step.grant?.lifetime == 3600)
    driver.files["/token"] = "5ecret-jwt-2"
    #expect(driver.start().sending?.plainForm.hasSuffix("=5ecret-jwt-2") == true)
    let refused = driver.answer(stsError("InvalidIdentityToken", "bad 5ecret-jwt-2"), status: 400)
    #expect(refused.refusal == "AWS STS says InvalidIdentityToken (bad ***)")
    for bad in [["/token": ""], ["/token": "a b"], [:]] {
      driver.files = bad
      #expect(driver.start().failure != nil)
    }
  }

  @Test("chained roles: each with the keys before it, signed")
  func roles() throws {
    let second = AWSKeySource.Role(arn: "arn:aws:iam::2:role/second", sessionName: "two")
    var driver = SourceDriver(
      aws: .fixed(AWSKeys(accessKeyID: "AKIA0", secretAccessKey: Secret("s"))), roles: [role, second], region: "eu-central-1")
    var request = try #require(driver.start().sending)
    #expect(request.line == "POST https://sts.eu-central-1.amazonaws.com")
    #expect(request.plainForm.contains("Action=AssumeRole&") && request.plainForm.contains("&ExternalId=x/1"))
    #expect(request.plainForm.contains("&DurationSeconds=900&"))
    #expect(request.signature?.keys.accessKeyID == "AKIA0")
    #expect(request.signature?.region == "eu-central-1" && request.signature?.service == "sts")
    #expect(request.signature?.time == SourceDriver.wall)
    request = try #require(driver.answer(sts("AssumeRole", "ASIA1")).sending)
    #expect(
      request.signature?.keys
        == AWSKeys(accessKeyID: "ASIA1", secretAccessKey: Secret("s-ASIA1"), sessionToken: Secret("t-ASIA1")))
    #expect(request.plainForm.contains("role/second&RoleSessionName=two&DurationSeconds=3600"))
    #expect(driver.answer(sts("AssumeRole", "ASIA2")).keys?.accessKeyID == "ASIA2")
  }

  @Test("a profile's roles, then the configuration's")
  func profileRoles() throws {
    let text = """
      [profile p]
      role_arn = arn:p
      source_profile = q
      region = eu-north-1
      external_id = e
      [profile q]
      role_arn = arn:q
      credential_source = EcsContainer
      """
    var driver = SourceDriver(
      aws: .profile, ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://[::1]:81/k?x=1"], profile: "p", roles: [role],
      files: [config: text])
    #expect(driver.start().sending?.line == "GET http://[::1]:81/k?x=1")
    var request = try #require(driver.answer(endpointKeys("ASIA0")).sending)
    #expect(request.line == "POST https://sts.eu-north-1.amazonaws.com")
    #expect(request.plainForm.contains("RoleArn=arn:q&"))
    request = try #require(driver.answer(sts("AssumeRole", "ASIA1")).sending)
    #expect(request.plainForm.contains("RoleArn=arn:p&") && request.plainForm.contains("ExternalId=e"))
    request = try #require(driver.answer(sts("AssumeRole", "ASIA2")).sending)
    #expect(request.plainForm.contains("RoleArn=arn:aws:iam::1:role/r&"))
    #expect(driver.answer(sts("AssumeRole", "ASIA3")).keys?.accessKeyID == "ASIA3")
  }

  @Test("a profile that is its own source has its own keys")
  func ownSource() {
    let text =
      "[default]\nrole_arn = r\nsource_profile = default\naws_access_key_id = AKIA\naws_secret_access_key = s\nregion = us-east-2"
    var driver = SourceDriver(aws: .profile, files: [config: text])
    #expect(driver.start().sending?.signature?.keys.accessKeyID == "AKIA")
  }

  @Test(
    "where STS is",
    arguments: [
      ([:], nil, nil, nil),
      (["AWS_REGION": "a-1", "AWS_DEFAULT_REGION": "b-1"], nil, nil, "https://sts.a-1.amazonaws.com a-1"),
      (["AWS_REGION": "a-1"], nil, "c-1", "https://sts.c-1.amazonaws.com c-1"),
      (["AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"], nil, nil, "http://127.0.0.1:1 us-east-1"),
      (
        ["AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"], "https://sts.eu-west-3.amazonaws.com", nil,
        "https://sts.eu-west-3.amazonaws.com eu-west-3"
      ),
      (["AWS_REGION": "a.evil.test/"], nil, nil, nil),
      ([:], nil, "us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com us-gov-west-1"),
      ([:], nil, "us-isob-east-1", "https://sts.us-isob-east-1.sc2s.sgov.gov us-isob-east-1"),
    ] as [([String: String], String?, String?, String?)])
  func endpoint(_ environment: [String: String], _ sts: String?, _ region: String?, _ expected: String?) {
    var driver = SourceDriver(
      aws: .fixed(AWSKeys(accessKeyID: "AKIA0", secretAccessKey: Secret("s"))), environment, roles: [role], sts: sts,
      region: region)
    let request = driver.start().sending
    #expect(request.map { "\($0.url) \($0.signature?.region ?? "")" } == expected)
  }

  @Test("a refused role: who says so and why; what passes by itself; what shows no secret")
  func refusedRole() {
    var driver = SourceDriver(
      aws: .fixed(AWSKeys(accessKeyID: "AKIA0", secretAccessKey: Secret("s5ecret"))), roles: [role], region: "eu-central-1")
    _ = driver.start()
    #expect(
      driver.answer(stsError("AccessDenied", "not authorized"), status: 403).refusal
        == "AWS STS says AccessDenied (not authorized)")
    _ = driver.start()
    #expect(
      driver.answer(stsError("Throttling"), status: 400, retryAfter: 7).ended
        == .failed(.server("AWS STS says Throttling (no)"), retryAfter: 7_000))
    _ = driver.start()
    #expect(driver.answer("oops", status: 500).failureText == "AWS STS answered with status 500")
    _ = driver.start()
    #expect(driver.answer("", status: 302).failureText?.contains("redirect") == true)
    _ = driver.start()
    #expect(driver.fail(.timedOut).failureText == "AWS STS did not answer in time")
    for body in ["", "<html>s5ecret", String(sts("AssumeRole", "A").prefix(150))] {
      _ = driver.start()
      let text = driver.answer(body).failureText
      #expect(text?.hasPrefix("AWS STS's answer cannot be used") == true)
      #expect(text?.contains("5ecret") == false)
    }
    _ = driver.start()
    #expect(driver.answer(sts("AssumeRole", "A", until: "2026-11-22T08:59:59Z")).failure == .expiredOnArrival)
  }

  @Test("a wrong clock is corrected by what STS says, once, and stays corrected")
  func clock() throws {
    var driver = SourceDriver(
      aws: .fixed(AWSKeys(accessKeyID: "AKIA0", secretAccessKey: Secret("s"))), roles: [role], region: "eu-central-1")
    let truth = SourceDriver.wall - 3_600
    _ = driver.start()
    let again = try #require(driver.answer(stsError("SignatureDoesNotMatch"), status: 403, date: truth).sending)
    #expect(again.signature?.time == truth)
    // Ends are in STS's time, too.
    let step = driver.answer(sts("AssumeRole", "A", until: "2026-11-22T09:00:00Z"), date: truth)
    #expect(step.grant?.lifetime == 3_600)
    #expect(driver.start().sending?.signature?.time == truth)
    #expect(driver.answer(stsError("SignatureDoesNotMatch"), status: 403, date: truth).refusal != nil)
    for (code, date) in [("AccessDenied", truth - 9_000), ("RequestExpired", 5), ("RequestExpired", truth + 100_000)] {
      _ = driver.start()
      #expect(driver.answer(stsError(code), status: 403, date: Int64(date)).refusal != nil)
    }
  }

  // MARK: Container

  @Test(
    "only these hosts get a container's token in clear text",
    arguments: [
      ("http://127.0.0.1/k", true), ("http://127.9.9.9:8080/k", true), ("http://localhost/k", true), ("http://[::1]/k", true),
      ("http://169.254.170.2/k", true), ("http://169.254.170.23/v1/credentials", true),
      ("http://[fd00:ec2::23]/v1/credentials", true),
      ("https://anything.test/k", true), ("http://169.254.169.254/k", false), ("http://10.0.0.1/k", false),
      ("http://evil.test/k", false),
      ("http://127.0.0.1@evil.test/k", false), ("http://169.254.170.2.evil.test/k", false), ("ftp://127.0.0.1/k", false),
      ("/k", false),
      ("http://[fd00:ec2::24]/k", false), ("http://localhost.evil.test/k", false),
    ])
  func containerHosts(_ url: String, _ isGood: Bool) {
    var driver = SourceDriver(
      aws: .container, ["AWS_CONTAINER_CREDENTIALS_FULL_URI": url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "5ecret"])
    let step = driver.start()
    #expect((step.sending != nil) == isGood, "\(step)")
  }

  @Test("a container's token, from its file for each fetch, and its path")
  func container() {
    var driver = SourceDriver(
      aws: .container,
      [
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/x", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "plain",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/token",
      ], files: ["/token": "one\n"])
    var step = driver.start()
    #expect(step.sending?.line == "GET http://169.254.170.2/v2/credentials/x")
    #expect(step.sending?.sent("Authorization") == "one")
    #expect(driver.answer(endpointKeys("ASIA1")).keys?.sessionToken == Secret("t-ASIA1"))
    driver.files["/token"] = "two"
    #expect(driver.start().sending?.sent("Authorization") == "two")
    for (body, status) in [(endpointKeys("A", until: "x"), 200), ("{}", 200), ("", 200), (#"{"code": "x"}"#, 500), ("", 302)] {
      _ = driver.start()
      step = driver.answer(body, status: status)
      #expect(step.failureText?.hasPrefix("the container's endpoint for keys") == true)
    }
    _ = driver.start()
    #expect(driver.answer(endpointKeys("A", until: "2026-11-22T09:00:00Z")).failure == .expiredOnArrival)
    for bad in [["/token": "a\nb"], ["/token": "\n"], [:]] {
      driver.files = bad
      guard case .unfit? = driver.start().failure else { return #expect(Bool(false), "\(bad)") }
    }
  }

  // MARK: Instance

  /// Asks for the token and the role, and answers with keys.
  private func instance(_ driver: inout SourceDriver, _ keys: String) -> TokenExchange.Step {
    #expect(driver.start().sending?.method == .put)
    _ = driver.answer("5ecret-session")
    _ = driver.answer("my-role")
    return driver.answer(keys)
  }

  @Test("the metadata service: a token, the role's name, its keys")
  func metadata() throws {
    var driver = SourceDriver(aws: .instance)
    var request = try #require(driver.start().sending)
    #expect(request.sent("X-aws-ec2-metadata-token-ttl-seconds") == "21600")
    #expect(request.timeout == 1_000)
    request = try #require(driver.answer("5ecret-session\n").sending)
    #expect(request.line == "GET http://169.254.169.254/latest/meta-data/iam/security-credentials/")
    #expect(request.sent("X-aws-ec2-metadata-token") == "5ecret-session")
    request = try #require(driver.answer("my-role\n").sending)
    #expect(request.url.hasSuffix("/security-credentials/my-role"))
    #expect(request.timeout == 1_000)
    let step = driver.answer(endpointKeys("ASIA1"))
    #expect(step.keys?.accessKeyID == "ASIA1")
    #expect(step.grant?.lifetime == 3600 && step.grant?.warning == nil)
  }

  @Test("silence tells of the hop limit; other failures tell what they are")
  func hopLimit() {
    var driver = SourceDriver(aws: .instance, ["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9/"])
    #expect(driver.start().sending?.url == "http://127.0.0.1:9/latest/api/token")
    #expect(driver.fail(.timedOut).failureText?.contains("hop limit") == true)
    _ = driver.start()
    #expect(driver.fail(.unreachable("no route")).failureText?.contains("hop limit") == true)
    _ = driver.start()
    #expect(driver.answer("", status: 403).failureText == "the instance's metadata service answered with status 403")
    _ = driver.start()
    #expect(driver.answer("two words").failureText?.contains("it is no token") == true)
    _ = driver.start()
    _ = driver.answer("t")
    #expect(
      driver.answer("", status: 404).failure
        == .unfit("the instance has no role, so the instance's metadata service has no keys"))
    _ = driver.start()
    _ = driver.answer("t")
    #expect(driver.answer("../../user-data").failureText?.contains("no role's name") == true)
    #expect(
      instance(&driver, #"{"Code": "AssumeRoleUnauthorizedAccess"}"#).failureText?.contains("AssumeRoleUnauthorizedAccess")
        == true)
  }

  @Test("expired keys of the metadata service are used with a warning: the one exception")
  func expired() {
    var driver = SourceDriver(aws: .instance)
    let step = instance(&driver, endpointKeys("ASIA1", until: "2026-11-22T08:00:00Z"))
    #expect(step.keys?.accessKeyID == "ASIA1")
    #expect(step.grant?.lifetime == 600)
    #expect(step.grant?.warning?.contains("expired") == true)
  }

  @Test("a metadata service that is down does not take its last keys away, once they have expired")
  func down() {
    var driver = SourceDriver(aws: .instance)
    #expect(instance(&driver, endpointKeys("ASIA1")).grant?.lifetime == 3600)
    _ = driver.start()
    #expect(driver.fail(.timedOut).failure != nil)
    driver.wall += 3_601
    _ = driver.start()
    let step = driver.fail(.timedOut)
    #expect(step.keys?.accessKeyID == "ASIA1")
    #expect(step.grant?.warning?.contains("hop limit") == true)
  }

  @Test("the end of its last keys is by the service's clock, however wrong ours is", arguments: [-7_200, 7_200] as [Int64])
  func downWithWrongClock(ours: Int64) {
    var driver = SourceDriver(aws: .instance)
    driver.wall += ours
    _ = driver.start()
    _ = driver.answer("token", date: SourceDriver.wall)
    _ = driver.answer("role", date: SourceDriver.wall)
    #expect(driver.answer(endpointKeys("ASIA1"), date: SourceDriver.wall).grant?.lifetime == 3600)
    driver.wall += 3_599
    _ = driver.start()
    #expect(driver.fail(.timedOut).failure != nil)
    driver.wall += 1
    _ = driver.start()
    let step = driver.fail(.timedOut)
    #expect(step.keys?.accessKeyID == "ASIA1")
    #expect(step.grant?.lifetime == 600)
  }

  @Test("a token is keys, and nothing of them is shown")
  func token() {
    let keys = AWSKeys(accessKeyID: "AKIA", secretAccessKey: Secret("s\"/+"), sessionToken: Secret("t"))
    #expect(AWSKeys(token: keys.token) == keys)
    let fixed = AWSKeys(accessKeyID: "AKIA", secretAccessKey: Secret("s"))
    #expect(AWSKeys(token: fixed.token) == fixed)
    #expect(AWSKeys(token: Secret("{}")) == nil)
    let source = AWSKeySource(base: .fixed(keys), environment: SourceEnvironment(["AWS_SECRET_ACCESS_KEY": "5ecret"]))
    #expect(!"\(source)".contains("5ecret"))
  }
}
