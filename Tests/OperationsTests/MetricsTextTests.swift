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
