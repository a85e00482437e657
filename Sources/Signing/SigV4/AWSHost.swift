/// Which service and region the name of an AWS host stands for.
public struct AWSHost: Sendable, Hashable {
  /// The signing name.
  public let service: [UInt8]
  /// nil: the name does not tell.
  public let region: [UInt8]?

  /// - Parameter host: lower or upper case, with or without a port.
  /// - Returns: nil for a host that is not AWS's.
  public init?(_ host: UnsafeRawBufferPointer) {
    let name = host.prefix { $0 != UInt8(ascii: ":") }.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
    guard let suffix = Self.suffixes.first(where: { Self.ends(name, with: $0.name) }) else { return nil }
    var labels = name.dropLast(suffix.name.utf8CodeUnitCount + 1).split(separator: UInt8(ascii: "."))
    if labels.last?.equals("vpce") == true { labels.removeLast() }
    // One endpoint for all regions.
    if labels.last?.equals("global") == true { labels.removeLast() }
    var region = labels.last.flatMap { Self.region($0) }
    if region != nil, let last = labels.popLast(), !Self.isRegion(last), let before = labels.last, Self.isRegion(before) {
      region = Array(before)
      labels.removeLast()
    }
    if labels.last?.equals("dualstack") == true { labels.removeLast() }
    guard var label = labels.popLast() else { return nil }
    if label.starts(with: "s3".utf8), let s3 = Self.s3(label, region, suffix.partition) {
      self = s3
      return
    }
    // us-east-1.es.amazonaws.com. A bucket may have the name of a region, so this is not for s3.
    if region == nil, let before = labels.last, Self.isRegion(before) {
      region = Array(before)
      labels.removeLast()
    }
    for prefix in ["fips-"] where label.starts(with: prefix.utf8) { label = label.dropFirst(prefix.utf8.count) }
    if label.ends(with: "-fips") { label = label.dropLast(5) }
    service = Self.signingName(label, behind: labels.last)
    self.region = region ?? suffix.partition.globalRegion(of: service)
  }

  private init(service: StaticString, region: [UInt8]?) {
    self.service = Array(UnsafeBufferPointer(start: service.utf8Start, count: service.utf8CodeUnitCount))
    self.region = region
  }

  // MARK: Partitions

  private enum Partition {
    case aws, china, europe
    /// With the region of services that have one endpoint.
    case isolated(StaticString)

    /// Of services that have one endpoint for all regions.
    func globalRegion(of service: [UInt8]) -> [UInt8] {
      switch self {
      case .aws: Array("us-east-1".utf8)
      case .china: Array((service.equals("iam") || service.equals("s3") ? "cn-north-1" : "cn-northwest-1").utf8)
      case .europe: Array("eusc-de-east-1".utf8)
      case .isolated(let region): Array(UnsafeBufferPointer(start: region.utf8Start, count: region.utf8CodeUnitCount))
      }
    }
  }

  /// Longer ones first.
  private static let suffixes: [(name: StaticString, partition: Partition)] = [
    ("api.amazonwebservices.com.cn", .china), ("amazonaws.com.cn", .china), ("on.amazonwebservices.com.cn", .china),
    ("api.amazonwebservices.eu", .europe), ("amazonaws.eu", .europe), ("on.amazonwebservices.eu", .europe),
    ("amazonaws.com", .aws), ("api.aws", .aws), ("on.aws", .aws), ("api.aws.ic.gov", .isolated("us-iso-east-1")),
    ("c2s.ic.gov", .isolated("us-iso-east-1")), ("api.aws.scloud", .isolated("us-isob-east-1")),
    ("sc2s.sgov.gov", .isolated("us-isob-east-1")), ("api.cloud-aws.adc-e.uk", .isolated("eu-isoe-west-1")),
    ("cloud.adc-e.uk", .isolated("eu-isoe-west-1")), ("api.aws.hci.ic.gov", .isolated("us-isof-south-1")),
    ("csp.hci.ic.gov", .isolated("us-isof-south-1")),
  ]

  private static func ends(_ name: [UInt8], with suffix: StaticString) -> Bool {
    let count = suffix.utf8CodeUnitCount
    guard name.count > count, name[name.count - count - 1] == UInt8(ascii: ".") else { return false }
    return name.suffix(count).equals(suffix)
  }

  // MARK: Regions

  /// The region that a label stands for; nil: it is none.
  private static func region(_ label: ArraySlice<UInt8>) -> [UInt8]? {
    if label.equals("us-gov") { return Array("us-gov-west-1".utf8) }
    return isRegion(label) ? Array(label) : nil
  }

  /// `us-east-1`, `us-gov-west-1`, `eusc-de-east-1`: words of letters, then a number.
  private static func isRegion(_ label: ArraySlice<UInt8>) -> Bool {
    let words = label.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard words.count >= 3, let first = words.first, (2...4).contains(first.count), let number = words.last, number.count == 1
    else { return false }
    return number.allSatisfy { (0x30...0x39).contains($0) }
      && words.dropLast().allSatisfy { !$0.isEmpty && $0.allSatisfy { (0x61...0x7a).contains($0) } }
  }

  // MARK: S3

  /// - Returns: nil for another service that begins with `s3`.
  private static func s3(_ label: ArraySlice<UInt8>, _ region: [UInt8]?, _ partition: Partition) -> AWSHost? {
    let name = label.ends(with: "-fips") ? label.dropLast(5) : label
    if name.starts(with: "s3express-".utf8) { return AWSHost(service: "s3express", region: region) }
    if name.equals("s3-object-lambda") { return AWSHost(service: "s3-object-lambda", region: region) }
    if name.equals("s3-outposts") { return AWSHost(service: "s3-outposts", region: region) }
    // A bucket's region is not in these names; the latter want SigV4A.
    for far: StaticString in ["s3-accelerate", "s3-global"] where name.equals(far) {
      return AWSHost(service: "s3", region: nil)
    }
    if name.equals("s3-external-1") { return AWSHost(service: "s3", region: Array("us-east-1".utf8)) }
    for prefix in ["s3-website-", "s3-fips-", "s3-"] where name.starts(with: prefix.utf8) {
      // s3-eu-west-1.amazonaws.com
      let rest = name.dropFirst(prefix.utf8.count)
      if region == nil, let old = Self.region(rest) { return AWSHost(service: "s3", region: old) }
    }
    let others: [StaticString] = ["s3", "s3-website", "s3-accesspoint", "s3-control", "s3-deprecated"]
    guard others.contains(where: { name.equals($0) }) else { return nil }
    return AWSHost(service: "s3", region: region ?? partition.globalRegion(of: Array("s3".utf8)))
  }
}

extension ArraySlice<UInt8> {
  func equals(_ text: StaticString) -> Bool {
    elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
  func ends(with text: StaticString) -> Bool { suffix(text.utf8CodeUnitCount).equals(text) }
}
