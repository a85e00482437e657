import CSystem
import Files
import Settings

/// Metrics of the process, with the names that Prometheus' client libraries use.
struct ProcessFigures {
  var processorTime = csys_processor_time()
  var residentBytes = 0
  var virtualBytes = 0
  var descriptors = Int(csys_open_descriptors())
  var descriptorLimit = csys_descriptor_limit()
  /// Seconds since 1970.
  var started: Int

  init(started: Int) {
    self.started = started
    // proc(5): size and resident, in pages.
    guard let bytes = try? FileReading.read("/proc/self/statm", limit: 4096).bytes else { return }
    let pages = String(decoding: bytes, as: UTF8.self).split(separator: " ").prefix(2).compactMap { Int($0) }
    guard pages.count == 2 else { return }
    virtualBytes = pages[0] * Int(csys_page_size())
    residentBytes = pages[1] * Int(csys_page_size())
  }

  func write(to metrics: inout MetricsText) {
    metrics.family("process_cpu_seconds_total", .counter, "User and system CPU time.")
    metrics.sample(nanoseconds: processorTime)
    metrics.family("process_resident_memory_bytes", .gauge, "Resident memory.")
    metrics.sample(residentBytes)
    metrics.family("process_virtual_memory_bytes", .gauge, "Virtual memory.")
    metrics.sample(virtualBytes)
    metrics.family("process_open_fds", .gauge, "Open file descriptors.")
    metrics.sample(descriptors)
    metrics.family("process_max_fds", .gauge, "Limit of open file descriptors.")
    metrics.sample(descriptorLimit)
    metrics.family("process_start_time_seconds", .gauge, "When the process started, in seconds since 1970.")
    metrics.sample(started)
  }
}
