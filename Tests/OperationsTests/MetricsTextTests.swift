import Foundation
import Testing

@testable import Operations

@Suite struct MetricsTextTests {
  @Test func `a histogram is cumulative, ends with +Inf, and its sum is in seconds`() {
    var histogram = Histogram()
    histogram.observe(500_000)
    histogram.observe(2_000_000_000)
    histogram.observe(90_000_000_000)
    var metrics = MetricsText()
    metrics.family("t_seconds", .histogram, "Times.")
    metrics.sample([("upstream", "a")], histogram)
    let lines = metrics.text.split(separator: "\n").map(String.init)
    #expect(lines.contains(#"t_seconds_bucket{upstream="a",le="0.001"} 1"#))
    #expect(lines.contains(#"t_seconds_bucket{upstream="a",le="1"} 1"#))
    #expect(lines.contains(#"t_seconds_bucket{upstream="a",le="2.5"} 2"#))
    #expect(lines.contains(#"t_seconds_bucket{upstream="a",le="+Inf"} 3"#))
    #expect(lines.contains(#"t_seconds_count{upstream="a"} 3"#))
    #expect(lines.contains(#"t_seconds_sum{upstream="a"} 92.000500"#))
  }

  @Test func `an observation at a bound belongs to it`() {
    for (index, bound) in Histogram.bounds.enumerated() {
      var histogram = Histogram()
      histogram.observe(bound)
      #expect(histogram.counts[index] == 1)
      var above = Histogram()
      above.observe(bound + 1)
      #expect(above.counts[index + 1] == 1)
    }
    #expect(Histogram.labels.count == Histogram.bounds.count + 1)
  }

  @Test func `sums of histograms do not depend on which one was empty`() {
    var one = Histogram()
    one.observe(1)
    var sum = Histogram()
    sum += one
    sum += Histogram()
    sum += one
    #expect(sum.counts.first == 2)
    #expect(sum.sum == 2)
  }

  @Test func `label values are escaped`() {
    var metrics = MetricsText()
    metrics.family("t", .gauge, "T.")
    metrics.sample([("upstream", "a\"b\\c\nd")], 1)
    #expect(metrics.text.hasSuffix(#"t{upstream="a\"b\\c\nd"} 1"# + "\n"))
  }

  @Test func `a tally counts by label`() {
    var tally = Tally<Int>()
    for code in [200, 404, 200, 200] { tally.add(code) }
    #expect(tally.entries.map(\.label) == [200, 404])
    #expect(tally.entries.map(\.count) == [3, 1])
  }
}

@Suite struct JSONTextTests {
  @Test func `what is written can be read, with everything that a string may hold`() throws {
    var json = JSONText()
    let odd = "quote \" backslash \\ newline \n tab \t nul \u{0} é 漢"
    json.object {
      $0.add("text", odd)
      $0.add("number", 7)
      $0.object("inner") {
        $0.add("yes", true)
        $0.add("list", ["a", "b\""])
      }
      $0.array("items", [1, 2]) { $0.add("n", $1) }
      $0.array("none", [Int]()) { $0.add("n", $1) }
      $0.add("last", false)
    }
    let read = try #require(try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any])
    #expect(read["text"] as? String == odd)
    #expect((read["items"] as? [[String: Int]])?.map { $0["n"] } == [1, 2])
    #expect((read["none"] as? [Any])?.isEmpty == true)
    #expect((read["inner"] as? [String: Any])?["list"] as? [String] == ["a", "b\""])
    #expect(read["last"] as? Bool == false)
  }
}
