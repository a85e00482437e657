import Credentials
import Testing

@testable import Signing

@Suite("What a request is signed for")
struct ScopeTests {
  private func text(_ host: String) -> String {
    guard let found = Array(host.utf8).withUnsafeBytes({ AWSHost($0) }) else { return "-" }
    return String(decoding: found.service, as: UTF8.self) + " "
      + String(decoding: found.region ?? Array("?".utf8), as: UTF8.self)
  }

  @Test(
    "stands in the names of AWS hosts",
    arguments: [
      ("s3.amazonaws.com", "s3 us-east-1"), ("s3.eu-central-1.amazonaws.com", "s3 eu-central-1"),
      ("s3-eu-west-1.amazonaws.com", "s3 eu-west-1"), ("bucket.s3-eu-west-1.amazonaws.com", "s3 eu-west-1"),
      ("bucket.s3.amazonaws.com", "s3 us-east-1"), ("bucket.s3.us-west-2.amazonaws.com", "s3 us-west-2"),
      ("my.bucket.with.dots.s3.us-west-2.amazonaws.com", "s3 us-west-2"),
      ("us-east-1.s3.eu-west-3.amazonaws.com", "s3 eu-west-3"),
      ("eu-west-3.s3.amazonaws.com", "s3 us-east-1"), ("s3.dualstack.us-west-2.amazonaws.com", "s3 us-west-2"),
      ("b.s3.dualstack.us-west-2.amazonaws.com", "s3 us-west-2"), ("s3-fips.us-gov-west-1.amazonaws.com", "s3 us-gov-west-1"),
      ("s3-fips.dualstack.us-east-1.amazonaws.com", "s3 us-east-1"), ("b.s3-website-us-east-1.amazonaws.com", "s3 us-east-1"),
      ("b.s3-website.eu-central-1.amazonaws.com", "s3 eu-central-1"), ("b.s3-accelerate.amazonaws.com", "s3 ?"),
      ("b.s3-accelerate.dualstack.amazonaws.com", "s3 ?"), ("s3-external-1.amazonaws.com", "s3 us-east-1"),
      ("ap-123456789012.s3-accesspoint.us-west-2.amazonaws.com", "s3 us-west-2"),
      ("123456789012.s3-control.us-west-2.amazonaws.com", "s3 us-west-2"),
      ("alias.mrap.accesspoint.s3-global.amazonaws.com", "s3 ?"),
      ("ap-1.s3-object-lambda.us-west-2.amazonaws.com", "s3-object-lambda us-west-2"),
      ("ap-1.op-1.s3-outposts.us-west-2.amazonaws.com", "s3-outposts us-west-2"),
      ("b--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com", "s3express us-west-2"),
      ("s3express-control.us-west-2.amazonaws.com", "s3express us-west-2"),
      ("s3tables.us-east-1.amazonaws.com", "s3tables us-east-1"),
      ("bucket.vpce-1a-2b.s3.us-east-1.vpce.amazonaws.com", "s3 us-east-1"),
      ("s3.cn-north-1.amazonaws.com.cn", "s3 cn-north-1"),
      ("b.s3.cn-north-1.amazonaws.com.cn:443", "s3 cn-north-1"), ("S3.US-EAST-1.AMAZONAWS.COM", "s3 us-east-1"),
      ("a1b2.execute-api.eu-central-1.amazonaws.com", "execute-api eu-central-1"),
      ("a1b2-vpce-1.execute-api.eu-central-1.vpce.amazonaws.com", "execute-api eu-central-1"),
      ("iam.amazonaws.com", "iam us-east-1"), ("sts.amazonaws.com", "sts us-east-1"),
      ("iam.us-gov.amazonaws.com", "iam us-gov-west-1"),
      ("sts.ap-southeast-2.amazonaws.com", "sts ap-southeast-2"), ("sts-fips.us-east-1.amazonaws.com", "sts us-east-1"),
      ("iam.cn-north-1.amazonaws.com.cn", "iam cn-north-1"), ("iam.global.api.aws", "iam us-east-1"),
      ("route53.amazonaws.com", "route53 us-east-1"), ("route53.amazonaws.com.cn", "route53 cn-northwest-1"),
      ("cloudfront.amazonaws.com", "cloudfront us-east-1"),
      ("organizations.us-east-1.amazonaws.com", "organizations us-east-1"),
      ("ec2.us-east-1.api.aws", "ec2 us-east-1"), ("lambda-fips.us-east-1.api.aws", "lambda us-east-1"),
      ("x.lambda-url.eu-west-1.on.aws", "lambda eu-west-1"), ("search-d.eu-west-1.es.amazonaws.com", "es eu-west-1"),
      ("d.aos.eu-west-1.on.aws", "es eu-west-1"), ("c.us-east-1.aoss.amazonaws.com", "aoss us-east-1"),
      ("eu-west-1.queue.amazonaws.com", "sqs eu-west-1"), ("sqs.eu-west-1.amazonaws.com", "sqs eu-west-1"),
      ("email.eu-west-1.amazonaws.com", "ses eu-west-1"), ("bedrock-runtime.us-east-1.amazonaws.com", "bedrock us-east-1"),
      ("api.ecr.us-east-1.amazonaws.com", "ecr us-east-1"),
      ("runtime.sagemaker.us-east-1.amazonaws.com", "sagemaker us-east-1"),
      ("a-ats.iot.us-east-1.amazonaws.com", "iotdata us-east-1"), ("iot.us-east-1.amazonaws.com", "iot us-east-1"),
      ("streams.dynamodb.us-east-1.amazonaws.com", "dynamodb us-east-1"),
      ("portal.sso.us-east-1.amazonaws.com", "awsssoportal us-east-1"),
      ("oidc.us-east-1.amazonaws.com", "sso-oauth us-east-1"), ("x.appsync-api.us-east-1.amazonaws.com", "appsync us-east-1"),
      ("dynamodb.eusc-de-east-1.amazonaws.eu", "dynamodb eusc-de-east-1"), ("s3.us-iso-east-1.c2s.ic.gov", "s3 us-iso-east-1"),
      // As botocore has them.
      ("iam-toolbox.us-east-1.api.aws", "iam us-east-1"),
      ("account-access-runtime-fips.eu-west-1.api.aws", "account-access eu-west-1"),
      ("sts.us-iso-east-1.api.aws.ic.gov", "sts us-iso-east-1"), ("s3.us-isob-east-1.api.aws.scloud", "s3 us-isob-east-1"),
      ("sqs.eu-isoe-west-1.api.cloud-aws.adc-e.uk", "sqs eu-isoe-west-1"),
      ("sqs.us-isof-south-1.api.aws.hci.ic.gov", "sqs us-isof-south-1"),
      ("iam.cloud.adc-e.uk", "iam eu-isoe-west-1"), ("route53.c2s.ic.gov", "route53 us-iso-east-1"),
      ("budgets.global.csp.hci.ic.gov", "budgets us-isof-south-1"),
      ("iam.global.api.amazonwebservices.com.cn", "iam cn-north-1"),
      ("codecatalyst.global.api.amazonwebservices.com.cn", "codecatalyst cn-northwest-1"),
      ("routes.geo.us-gov-west-1.us-gov.amazonaws.com", "geo-routes us-gov-west-1"),
      ("maps.geo-fips.eu-west-1.api.aws", "geo-maps eu-west-1"),
      ("participant.connect.eu-west-1.amazonaws.com", "execute-api eu-west-1"),
      ("data.jobs.iot.eu-west-1.amazonaws.com", "iot-jobs-data eu-west-1"),
      ("a1b2.ats.iot.cn-north-1.amazonaws.com.cn", "iotdata cn-north-1"),
      ("data.iot.eu-west-1.amazonaws.com", "iotdata eu-west-1"),
      ("api.tunneling.iot.eu-west-1.amazonaws.com", "IoTSecuredTunneling eu-west-1"),
      ("sms-voice.pinpoint.eu-west-1.amazonaws.com", "sms-voice eu-west-1"),
      ("pinpoint.eu-west-1.amazonaws.com", "mobiletargeting eu-west-1"),
      ("mturk-requester.us-east-1.amazonaws.com", "mturk-requester us-east-1"),
      ("c.cluster-x.us-east-1.neptune.amazonaws.com", "neptune-db us-east-1"),
      ("elasticfilesystem.us-east-1.amazonaws.com", "elasticfilesystem us-east-1"),
      ("efs-fips.us-east-1.api.aws", "elasticfilesystem us-east-1"),
      ("123456789012.streams-ddb-fips.us-east-1.amazonaws.com", "dynamodb us-east-1"),
      ("metering-marketplace.eu-west-1.api.aws", "aws-marketplace eu-west-1"),
      ("personalize-runtime.us-east-1.amazonaws.com", "personalize us-east-1"),
      ("c.aoss.us-east-1.on.aws", "aoss us-east-1"), ("x.lambda-url.eu-west-1.on.aws:443", "lambda eu-west-1"),
      ("a1b2.execute-api.eu-west-1.api.aws", "execute-api eu-west-1"),
      ("s-1.vpc-lattice-svcs.eu-west-1.on.aws", "vpc-lattice-svcs eu-west-1"),
      ("amazonaws.com", "-"), ("evil-amazonaws.com", "-"), ("amazonaws.com.evil.test", "-"), ("localhost:4566", "-"),
      ("127.0.0.1", "-"),
      ("", "-"), (".amazonaws.com", "-"), ("vpce.amazonaws.com", "-"), ("us-east-1.amazonaws.com", "-"),
      ("account.r2.cloudflarestorage.com", "-"),
    ])
  func hosts(host: String, expected: String) { #expect(text(host) == expected) }

  private func scope(
    _ service: SigV4Policy.Scope, _ region: SigV4Policy.Scope, app: (String, String)? = nil, host: String = "localhost",
    fallback: String? = nil
  ) -> String {
    let policy = SigV4Policy(
      service: service, region: region, payload: .auto, keys: .fixed(AWSKeys(accessKeyID: "A", secretAccessKey: Secret([1]))),
      defaultRegion: fallback)
    let app = app.map { SigningScope(service: Array($0.0.utf8), region: Array($0.1.utf8)) }
    let result = Array(host.utf8).withUnsafeBytes { host in
      Result { () throws(ScopeRules.Problem) in try ScopeRules(policy).scope(app: app, host: host) }
    }
    func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    return switch result {
    case .success(let scope): text(scope.service) + " " + text(scope.region)
    case .failure(.unknownService): "unknown service"
    case .failure(.unknownRegion): "unknown region"
    case .failure(.serviceNotListed(let name)): "service \(text(name)) not listed"
    case .failure(.regionNotListed(let name)): "region \(text(name)) not listed"
    case .failure(.serviceNotNamed(let name)): "service \(text(name)) not named"
    }
  }

  @Test("is what the app's signature says, then what the host says, then what the environment says")
  func auto() {
    #expect(scope(.auto, .auto) == "unknown service")
    #expect(scope(.auto, .auto, host: "sqs.eu-west-1.amazonaws.com") == "sqs eu-west-1")
    #expect(scope(.auto, .auto, app: ("s3", "us-east-2")) == "s3 us-east-2")
    #expect(scope(.auto, .auto, app: ("s3", "us-east-2"), host: "sqs.eu-west-1.amazonaws.com", fallback: "x") == "s3 us-east-2")
    #expect(scope(.auto, .auto, host: "b.s3-accelerate.amazonaws.com") == "unknown region")
    #expect(scope(.auto, .auto, host: "b.s3-accelerate.amazonaws.com", fallback: "eu-west-3") == "s3 eu-west-3")
    #expect(scope(.named("vpc-lattice-svcs"), .auto, fallback: "eu-west-3") == "vpc-lattice-svcs eu-west-3")
    #expect(scope(.named("s3"), .named("auto-1"), app: ("sqs", "x")) == "s3 auto-1")
  }

  @Test("is within the lists")
  func lists() {
    #expect(scope(.oneOf(["s3", "sqs"]), .auto, app: ("sqs", "x")) == "sqs x")
    #expect(scope(.oneOf(["s3"]), .auto, app: ("sqs", "x")) == "service sqs not listed")
    #expect(scope(.oneOf(["s3"]), .auto, host: "sqs.eu-west-1.amazonaws.com") == "service sqs not listed")
    #expect(scope(.auto, .oneOf(["eu-west-1"]), app: ("s3", "eu-west-1")) == "s3 eu-west-1")
    #expect(scope(.auto, .oneOf(["eu-west-1"]), app: ("s3", "us-east-1")) == "region us-east-1 not listed")
    #expect(scope(.auto, .oneOf(["eu-west-1"]), app: nil, host: "s3.amazonaws.com") == "region us-east-1 not listed")
    #expect(scope(.oneOf(["s3"]), .auto) == "unknown service")
  }

  @Test("is a service that gives keys only where it is named")
  func keyServices() {
    for service in ["sts", "iam", "sso", "organizations", "cognito-identity", "STS", "eks-auth"] {
      #expect(scope(.auto, .auto, app: (service, "x")) == "service \(service) not named")
      #expect(scope(.named(service), .auto, app: ("s3", "x")) == "\(service) x")
      #expect(scope(.oneOf([service]), .auto, app: (service, "x")) == "\(service) x")
    }
    #expect(scope(.auto, .auto, host: "sts.amazonaws.com") == "service sts not named")
    // By another name, in another partition.
    #expect(scope(.auto, .auto, app: ("s3", "x"), host: "iam-toolbox.us-east-1.api.aws") == "service iam not named")
    #expect(scope(.auto, .auto, app: ("s3", "x"), host: "sts.us-isob-east-1.api.aws.scloud") == "service sts not named")
    #expect(scope(.auto, .auto, host: "sts.eu-west-1.amazonaws.com") == "service sts not named")
    // Whatever the app says.
    #expect(scope(.auto, .auto, app: ("s3", "x"), host: "sts.eu-west-1.amazonaws.com") == "service sts not named")
    #expect(scope(.oneOf(["s3"]), .auto, app: ("s3", "x"), host: "iam.amazonaws.com") == "service iam not named")
    #expect(scope(.oneOf(["s3", "iam"]), .auto, app: ("iam", "x"), host: "iam.amazonaws.com") == "iam x")
  }

  private func app(_ value: String) -> String {
    describe(Array(value.utf8).withUnsafeBytes { AppSignature(authorization: $0) })
  }
  private func presigned(_ target: String) -> String {
    describe(Array(target.utf8).withUnsafeBytes { AppSignature(presigned: $0) })
  }
  private func describe(_ found: AppSignature?) -> String {
    guard let found else { return "-" }
    let scope = found.scope.map {
      String(decoding: $0.service, as: UTF8.self) + " " + String(decoding: $0.region, as: UTF8.self)
    }
    return (found.algorithm == .sigV4 ? "" : "other ") + (scope ?? "?")
  }

  @Test("is read from an app's Authorization")
  func authorization() {
    let end = ", SignedHeaders=host, Signature=abc"
    #expect(app("AWS4-HMAC-SHA256 Credential=AK/20150830/us-east-1/iam/aws4_request" + end) == "iam us-east-1")
    #expect(
      app("AWS4-HMAC-SHA256 SignedHeaders=host,Signature=1,Credential=AK/20150830/us-east-1/iam/aws4_request ")
        == "iam us-east-1")
    #expect(app("AWS4-HMAC-SHA256 Credential=a/b/c/20150830/us-east-1/s3/aws4_request" + end) == "s3 us-east-1")
    #expect(app("aws4-hmac-sha256 Credential=AK/20150830/us-east-1/iam/aws4_request" + end) == "other iam us-east-1")
    #expect(app("AWS4-ECDSA-P256-SHA256 Credential=AK/20150830/s3/aws4_request" + end) == "other ?")
    #expect(app("AWS4-HMAC-SHA256") == "?")
    #expect(app("AWS4-HMAC-SHA256 Credential=") == "?")
    #expect(app("AWS4-HMAC-SHA256 Credential=AK/20150830/us-east-1/iam/aws5_request" + end) == "?")
    #expect(app("AWS4-HMAC-SHA256 Credential=AK/20150830//iam/aws4_request" + end) == "?")
    #expect(app("AWS4-HMAC-SHA256 Credential=AK/20150830/us east/iam/aws4_request" + end) == "?")
    #expect(
      app("AWS4-HMAC-SHA256 Credential=AK/20150830/us-east-1/\(String(repeating: "a", count: 65))/aws4_request" + end) == "?")
    for other in ["", "Bearer x", "AWS AK:sig", "AWS4", "Basic AWS4-"] { #expect(app(other) == "-") }
  }

  @Test("is read from an app's query")
  func query() {
    let all =
      "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20150830%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Signature=1"
    #expect(presigned("/a?" + all) == "s3 us-east-1")
    #expect(
      presigned("/a?x=1&%58-amz-Signatur%65=1&x-amz-credential=AK/20150830/us-east-1/sqs/aws4_request") == "other sqs us-east-1"
    )
    #expect(presigned("/a?X-Amz-Credential=AK%2F20150830%2Fus-east-1%2Fs3%2Faws4_request") == "-")
    #expect(presigned("/a?X-Amz-Signature") == "other ?")
    #expect(presigned("/X-Amz-Signature=1") == "-")
  }
}
