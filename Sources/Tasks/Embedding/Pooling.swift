import GraphFile

extension ModelDescription.Pooling {
    /// Pools the first `count` of the token vectors in `rows`, each `width` long, after the formulas of sentence-transformers.
    ///
    /// Without tokens the result is zeros.
    func pool(_ rows: UnsafeBufferPointer<Float>, count: Int, width: Int) -> [Float] {
        guard count > 0, width > 0 else { return [Float](repeating: 0, count: width) }
        switch self {
        case .cls, .none: return Array(rows[..<width])
        case .lastToken: return Array(rows[(count - 1) * width..<count * width])
        case .max:
            var result = Array(rows[..<width])
            for token in 1..<Swift.max(count, 1) {
                for index in 0..<width { result[index] = Swift.max(result[index], rows[token * width + index]) }
            }
            return result
        case .mean: return Self.sum(rows, count, width) { _ in 1 }.map { Float($0 / Double(count)) }
        case .meanSqrtLength: return Self.sum(rows, count, width) { _ in 1 }.map { Float($0 / Double(count).squareRoot()) }
        case .weightedMean:
            let total = Double(count) * Double(count + 1) / 2
            return Self.sum(rows, count, width) { Double($0 + 1) }.map { Float($0 / total) }
        }
    }

    private static func sum(
        _ rows: UnsafeBufferPointer<Float>, _ count: Int, _ width: Int, weight: (Int) -> Double
    ) -> [Double] {
        var sums = [Double](repeating: 0, count: width)
        for token in 0..<count {
            let factor = weight(token)
            for index in 0..<width { sums[index] += factor * Double(rows[token * width + index]) }
        }
        return sums
    }
}
