import CommandLineTools
import JSON
import Runtime
import Tasks

let doctorCommand = Command(
    name: "doctor", summary: "show what this machine offers and what was chosen",
    discussion: """
        CPU features and the kernels they allow, the BLAS library with the core type it runs (and whether that was set because its own guess is
        too low), threads, and the models found. Exit status 1 where something would make answers wrong or slow.
        """,
    options: [CommonOptions.json],
    examples: ["mlrun doctor", "OPENBLAS_CORETYPE=Haswell mlrun doctor"]
) { arguments in
    guard arguments.operands.isEmpty else { throw UsageError("doctor takes no operands") }
    let report = SystemReport.current()
    let catalogue = try ModelCatalogue()
    let blas = report.blas
    if arguments.has("json") {
        let answer: JSONValue = [
            "cpu_features": .array(report.cpuFeatures.map { .string($0) }), "kernels": .string(report.kernels), "threads": .integer(report.threads),
            "blas": [
                "available": .bool(blas.isAvailable), "name": .string(blas.name), "path": .string(blas.path),
                "configuration": .string(blas.configuration), "core": .string(blas.core), "requested_core": .string(blas.requestedCore),
                "core_set_by_loader": .bool(blas.isCoreSetByLoader), "self_check_error": .number(blas.selfCheckError),
                "message": .string(blas.message),
            ],
            "models": .array(catalogue.entries.map { ["name": .string($0.name), "path": $0.url.map { .string($0.path) } ?? .null] }),
            "model_folders": .array(catalogue.folders.map { .string($0.path) }),
        ]
        try StandardOutput.write(answer.text + "\n")
    } else {
        var rows: [(String, String)] = [
            ("CPU features", report.cpuFeatures.joined(separator: " ")),
            ("kernels", report.kernels == report.bestKernels ? report.kernels : "\(report.kernels) (the CPU allows \(report.bestKernels))"),
            ("threads", "\(report.threads)"),
        ]
        if blas.isAvailable {
            rows.append(("BLAS", "\(blas.name) \(blas.configuration)"))
            rows.append(("", blas.path))
            rows.append(("BLAS core", blas.core + (blas.isCoreSetByLoader ? " (asked for by the loader, which knows the CPU better than old libraries do)" : "")))
            rows.append(("BLAS check", "largest error \(blas.selfCheckError), allowed \(blas.selfCheckBound)"))
        }
        if !blas.message.isEmpty { rows.append(("BLAS note", blas.message)) }
        for (index, entry) in catalogue.entries.enumerated() {
            rows.append((index == 0 ? "models" : "", "\(entry.name): \(entry.url?.path ?? "not installed")"))
        }
        for (index, folder) in catalogue.folders.enumerated() { rows.append((index == 0 ? "model folders" : "", folder.path)) }
        let width = rows.map(\.0.utf8.count).max() ?? 0
        for (key, value) in rows {
            try StandardOutput.write(key + String(repeating: " ", count: width - key.utf8.count + 2) + value + "\n")
        }
    }
    guard blas.isAvailable else {
        throw CommandError("no BLAS library is in use (\(blas.message)); large models run slower. On Debian: apt-get install libopenblas0")
    }
}
