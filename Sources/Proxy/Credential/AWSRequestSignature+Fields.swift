import Credentials
import Crypto
import HTTPWire

extension AWSRequestSignature {
  /// The fields that sign a form (AWS Signature Version 4) for the root of a server.
  func fields(for request: TokenHTTPRequest) throws(OpenSSLError) -> [(name: String, value: [UInt8])] {
    let url = try? HTTPURL(request.url)
    let host = url?.authority ?? ""
    let time = Self.text(of: time)
    let day = time.prefix(8)
    var signed: [(name: String, value: [UInt8])] = [("X-Amz-Date", Array(time.utf8))]
    if let token = keys.sessionToken { signed.append(("X-Amz-Security-Token", token.bytes)) }
    let all =
      signed + request.fields.filter { $0.name == "Content-Type" }.map { ($0.name, $0.value.bytes) } + [
        ("host", Array(host.utf8))
      ]
    let sorted = all.map { (name: $0.name.lowercased(), value: $0.value) }.sorted { $0.name < $1.name }
    let names = sorted.map(\.name).joined(separator: ";")
    let path = url?.pathAndQuery ?? ""
    var canonical = Array("\(request.method.rawValue)\n\(path.isEmpty ? "/" : path)\n\n".utf8)
    for field in sorted { canonical += Array("\(field.name):".utf8) + field.value + [0x0a] }
    canonical += Array("\n\(names)\n\(Self.hex(SHA256.digest(request.body.bytes)))".utf8)
    let scope = "\(day)/\(region)/\(service)/aws4_request"
    let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(Self.hex(SHA256.digest(canonical)))"
    var key = Array("AWS4".utf8) + keys.secretAccessKey.bytes
    for part in [String(day), region, service, "aws4_request"] { key = try HMACSHA256.code(of: Array(part.utf8), key: key) }
    let signature = Self.hex(try HMACSHA256.code(of: Array(text.utf8), key: key))
    let value = "AWS4-HMAC-SHA256 Credential=\(keys.accessKeyID)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
    return signed + [("Authorization", Array(value.utf8))]
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// `20150830T123600Z`
  private static func text(of time: Int64) -> String {
    let days = time / 86_400
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9)
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let second = time % 86_400
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(year)\(two(month))\(two(day))T\(two(second / 3600))\(two(second / 60 % 60))\(two(second % 60))Z"
  }
}
