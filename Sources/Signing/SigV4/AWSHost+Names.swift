extension AWSHost {
  /// - Parameters:
  ///   - label: of the service, without `fips`.
  ///   - before: the label in front of it.
  static func signingName(_ label: ArraySlice<UInt8>, behind before: ArraySlice<UInt8>?) -> [UInt8] {
    if let before {
      // A thing's own endpoint: `a1b2-ats.iot`, in China `a1b2.ats.iot`.
      if label.equals("iot"), before.ends(with: "-ats") { return Array("iotdata".utf8) }
      for (first, second, signing) in pairs where label.equals(second) && before.equals(first) { return bytes(signing) }
    }
    for (name, signing) in names where label.equals(name) { return bytes(signing) }
    return Array(label)
  }

  private static func bytes(_ text: StaticString) -> [UInt8] {
    Array(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Services whose name is in two labels.
  private static let pairs: [(first: StaticString, second: StaticString, signing: StaticString)] = [
    ("ats", "iot", "iotdata"), ("data", "iot", "iotdata"), ("jobs", "iot", "iot-jobs-data"), ("maps", "geo", "geo-maps"),
    ("participant", "connect", "execute-api"), ("places", "geo", "geo-places"), ("portal", "sso", "awsssoportal"),
    ("routes", "geo", "geo-routes"), ("sms-voice", "pinpoint", "sms-voice"), ("tunneling", "iot", "IoTSecuredTunneling"),
  ]

  /// Services that sign by another name than that of their hosts.
  private static let names: [(host: StaticString, signing: StaticString)] = [
    ("account-access-runtime", "account-access"), ("agent-registry-control", "agent-registry"),
    ("agreement-marketplace", "aws-marketplace"), ("aos", "es"), ("appconfigdata", "appconfig"), ("appstream2", "appstream"),
    ("appsync-api", "appsync"), ("appsync-realtime-api", "appsync"), ("aps-workspaces", "aps"),
    ("arc-recovery-control-config", "route53-recovery-control-config"), ("bedrock-agent", "bedrock"),
    ("bedrock-agent-runtime", "bedrock"), ("bedrock-agentcore-control", "bedrock-agentcore"),
    ("bedrock-data-automation", "bedrock"), ("bedrock-data-automation-runtime", "bedrock"), ("bedrock-runtime", "bedrock"),
    ("cassandra-streams", "cassandra"), ("catalog-marketplace", "aws-marketplace"), ("cloudhsmv2", "cloudhsm"),
    ("cloudsearchdomain", "cloudsearch"), ("cloudwatch-omni", "cloudwatch"), ("contact-lens", "connect"),
    ("data-signer", "signer"), ("ddb", "dynamodb"), ("deployment-marketplace", "aws-marketplace"),
    ("discovery-marketplace", "aws-marketplace"), ("efs", "elasticfilesystem"), ("email", "ses"),
    ("entitlement-marketplace", "aws-marketplace"), ("eventsv2", "events"), ("forecastquery", "forecast"),
    ("git-codecommit", "codecommit"), ("iam-toolbox", "iam"), ("identity-chime", "chime"),
    ("iot-tunneling", "IoTSecuredTunneling"), ("ivsrealtime", "ivs"), ("kafka-api", "kafka"), ("lambda-url", "lambda"),
    ("mail-manager", "ses"), ("marketplace", "aws-marketplace"), ("media-pipelines-chime", "chime"),
    ("meetings-chime", "chime"), ("memory-db", "memorydb"), ("messaging-chime", "chime"),
    ("metering-marketplace", "aws-marketplace"), ("migrationhub-config", "mgh"), ("models-v2-lex", "lex"),
    ("neptune", "neptune-db"), ("oidc", "sso-oauth"), ("partnercentral-prm", "partnercentral"),
    ("personalize-events", "personalize"), ("personalize-runtime", "personalize"), ("pinpoint", "mobiletargeting"),
    ("queue", "sqs"), ("reporting-marketplace", "aws-marketplace"), ("runtime-v2-lex", "lex"), ("search", "cloudsearch"),
    ("servicecatalog-appregistry", "servicecatalog"), ("streams-ddb", "dynamodb"), ("streams-dynamodb", "dynamodb"),
    ("timestream-ingest", "timestream"), ("timestream-query", "timestream"), ("transcribestreaming", "transcribe"),
    ("voice-chime", "chime"),
  ]
}
