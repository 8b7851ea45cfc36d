import GraphIR
import Operators
import Tensors

/// Code for one node of one plan: it knows all sizes, and finds its operands in memory when it runs.
protocol Kernel: Sendable {
    /// What the profiler calls it.
    var name: String { get }
    /// Operands whose memory the first output may take over: each output element is written after the operand's element at the same
    /// place was last read, and nothing else of the operand is read later.
    var inPlaceOperands: [Int] { get }
    /// Scratch memory for one run.
    func scratchBytes(threads: Int) -> Int
    /// Writes the outputs.
    ///
    /// - Throws: an error about the data, e.g. an index outside a table.
    func run(_ memory: KernelMemory) throws
}

extension Kernel {
    var inPlaceOperands: [Int] { [] }
    func scratchBytes(threads: Int) -> Int { 0 }
}

/// The memory of one node while it runs: dense row-major operands and outputs.
struct KernelMemory {
    /// nil for an absent operand.
    let inputs: UnsafeBufferPointer<UnsafeRawPointer?>
    let outputs: UnsafeBufferPointer<UnsafeMutableRawPointer>
    let scratch: UnsafeMutableRawPointer
    let threads: Int
    /// The run's key-value cache; nil for a run that starts empty and keeps nothing.
    var cache: KeyValueCache?

    func optional<Element>(_ index: Int, as type: Element.Type = Element.self) -> UnsafePointer<Element>? {
        guard index < inputs.count, let pointer = inputs[index] else { return nil }
        return pointer.assumingMemoryBound(to: type)
    }

    /// - Throws: `OperatorError` where the operand is absent, which no kernel's selection lets happen.
    func input<Element>(_ index: Int, as type: Element.Type = Element.self) throws -> UnsafePointer<Element> {
        guard let pointer = optional(index, as: type) else { throw OperatorError(.invalidAttribute, "operand \(index) is missing") }
        return pointer
    }

    func output<Element>(_ index: Int = 0, as type: Element.Type = Element.self) -> UnsafeMutablePointer<Element> {
        outputs[index].assumingMemoryBound(to: type)
    }
}

/// What the selection of a kernel goes by.
struct KernelRequest {
    let op: any Operator
    let operands: [ConcreteType?]
    /// The contents of operands that do not change from run to run.
    let constants: [Tensor?]
    /// Names operands that are the executor's constants, whose packed forms are kept; nil for others.
    let weights: [ValueID?]
    let outputs: [ConcreteType]
    let store: WeightStore
    /// Of scaled_dot_product_attention: how its operands and output lie in memory.
    var attentionLayout = AttentionLayout()

    func operand(_ index: Int) -> ConcreteType? { index < operands.count ? operands[index] : nil }
    func constant(_ index: Int) -> Tensor? { index < constants.count ? constants[index] : nil }
    func weight(_ index: Int) -> ValueID? { index < weights.count ? weights[index] : nil }

    /// All present operands and all outputs are f32.
    var isF32: Bool {
        operands.allSatisfy { $0 == nil || $0?.dtype == .f32 } && outputs.allSatisfy { $0.dtype == .f32 }
    }
}
