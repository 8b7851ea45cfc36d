import GraphIR
import Tensors

// Bridge until every operator file has its reference evaluation.
extension Operator {
    public func evaluate(_ inputs: Inputs) throws -> [Tensor] {
        throw OperatorError(.unsupported, "\(mnemonic) has no reference evaluation")
    }
}
