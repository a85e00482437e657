import Foundation
import Testing

/// docker/kubernetes, built by kubectl and judged by Kubernetes' schema. Debian's kubernetes-client is 1.20: its kustomize knows no components,
/// so it cannot judge.
@Suite struct PeerManifestTests {
  static let kubectl: String? = {
    let version = try? ChildProcess.run("kubectl", ["version", "--client"])
    return version.flatMap { $0.output.contains(/Kustomize Version: v[4-9]/) ? "kubectl" : nil }
  }()
  private static let judge = [Surroundings.root + "/.build-venv-peers/bin", Surroundings.root + "/.build-venv/bin"]
    .map { "\($0)/kubernetes-validate" }.first { FileManager.default.isExecutableFile(atPath: $0) }

  private static let combinations = Manifests.patterns.flatMap { pattern in
    [(pattern, nil)] + Manifests.stores.map { (pattern, Optional($0)) }
  }

  /// - Parameter store: nil: as the folder says.
  private func build(_ pattern: String, _ store: String?) throws -> String {
    let folder = try Surroundings.newFolder() + "/kubernetes"
    try FileManager.default.copyItem(atPath: Manifests.folder, toPath: folder)
    if let store {
      let path = "\(folder)/\(pattern)/kustomization.yaml"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      let chosen = text.replacing(/components:\n(?:  .*\n)+/, with: "components:\n  - ../\(store)\n")
      #expect(chosen.contains("- ../\(store)\n"))
      try chosen.write(toFile: path, atomically: true, encoding: .utf8)
    }
    let built = try ChildProcess.run("kubectl", ["kustomize", "\(folder)/\(pattern)"])
    guard built.status == .exited(0) else { throw HarnessError("kubectl kustomize: \(built.errors)") }
    return built.output
  }

  @Test(.enabled(if: kubectl != nil, "kubectl is too old, or is not installed"), arguments: combinations)
  func `every pattern is built with each store, and its proxy.conf is one that check accepts`(pattern: String, store: String?)
    throws
  {
    let built = try build(pattern, store)
    let text = try #require(built.components(separatedBy: "  proxy.conf: |\n").last?.components(separatedBy: "\nkind:").first)
    let configuration = text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.dropFirst(4) }
      .joined(separator: "\n")
    let checked = try Manifests.check(configuration)
    #expect(checked.status == .exited(0), "\(checked.errors)")
    // The component's text is no object of the cluster.
    #expect(!built.contains("section:"))
    let objects = built.components(separatedBy: "\n---\n")
    let workload = try #require(objects.first { $0.contains("kind: Deployment") || $0.contains("kind: DaemonSet") })
    for line in ["runAsNonRoot: true", "type: RuntimeDefault", "automountServiceAccountToken: false"] {
      #expect(workload.contains(line), "\(line)")
    }
    let containers = workload.components(separatedBy: "image: ").count - 1
    for line in ["readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false", "- ALL"] {
      #expect(workload.components(separatedBy: line).count - 1 == containers, "\(line)")
    }
    #expect(!workload.contains(/limits:\n *cpu/))
    // Of the API server, the proxy's container alone has a token, and only where it needs one.
    let mounts = workload.components(separatedBy: "kubernetes.io/serviceaccount").count - 1
    #expect(mounts == (configuration.contains("kubernetes:") ? 1 : 0))
    #expect(objects.contains { $0.contains("kind: Role\n") } == (mounts == 1))
  }

  @Test(
    .enabled(if: kubectl != nil && judge != nil, "kubectl or kubernetes-validate is not installed"), arguments: combinations)
  func `what is built fits Kubernetes' schema`(pattern: String, store: String?) throws {
    let path = try Surroundings.newFolder() + "/built.yaml"
    try build(pattern, store).write(toFile: path, atomically: true, encoding: .utf8)
    let checked = try ChildProcess.run(Self.judge ?? "", ["--strict", path])
    #expect(checked.status == .exited(0), "\(checked.output)\(checked.errors)")
  }
}
