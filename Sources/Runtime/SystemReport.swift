import CKernels
import COpenBLAS

/// What a run uses on this machine, for people to read.
public struct SystemReport: Sendable, Hashable {
    /// Instruction set extensions that the CPU has, of those the kernels know.
    public let cpuFeatures: [String]
    /// The version of the kernels in use, and the best one that this CPU runs.
    public let kernels: String
    public let bestKernels: String
    /// CPUs that the process may use: the default number of threads.
    public let threads: Int
    public let blas: BLAS

    public struct BLAS: Sendable, Hashable {
        public let isAvailable: Bool
        public let name: String
        public let path: String
        /// The library's own description: version and build options.
        public let configuration: String
        /// The kernel family in use, as the library names it.
        public let core: String
        /// The core type that was asked for; empty when the library chose by itself.
        public let requestedCore: String
        /// The toolkit asked for it, since the library's own guess may be far below what the CPU runs; otherwise the user did, by
        /// OPENBLAS_CORETYPE.
        public let isCoreSetByLoader: Bool
        /// The largest error of the product that was tried, and how large it may be.
        public let selfCheckError: Double
        public let selfCheckBound: Double
        /// Why the library is not in use; empty when it is.
        public let message: String
    }

    /// Looks at the machine; opens the BLAS library if that was not done yet.
    public static func current() -> SystemReport {
        let cpu = ck_cpu_features()
        let features: [(Bool, String)] = [
            (cpu.avx2, "avx2"), (cpu.fma, "fma"), (cpu.f16c, "f16c"), (cpu.avx512, "avx512"), (cpu.avx512_vnni, "avx512_vnni"),
            (cpu.avx512_bf16, "avx512_bf16"), (cpu.amx, "amx_int8"), (cpu.neon, "neon"),
        ]
        _ = blas_load()
        func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        let info = blas_get_info()?.pointee ?? blas_info()
        return SystemReport(
            cpuFeatures: features.filter(\.0).map(\.1), kernels: text(ck_isa_name(cpu.active)), bestKernels: text(ck_isa_name(cpu.best)),
            threads: WorkerPool.processorCount,
            blas: BLAS(
                isAvailable: info.available, name: text(info.name), path: text(info.path), configuration: text(info.config),
                core: text(info.core), requestedCore: text(info.requested_core), isCoreSetByLoader: info.core_set_by_loader,
                selfCheckError: info.self_check_error, selfCheckBound: blas_self_check_bound, message: text(info.message)))
    }
}
