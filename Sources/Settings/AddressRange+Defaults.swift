extension AddressRange {
  /// What `default` in `forbidden_addresses` stands for. Filled in by the configuration's tests against configuration.md's list.
  public static let defaults: [AddressRange] = []
}
