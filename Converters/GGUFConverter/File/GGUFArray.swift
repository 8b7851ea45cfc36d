import Tensors

/// An array of the metadata, in the mapped file: vocabularies have hundreds of thousands of elements that most callers do not need.
public struct GGUFArray: Sendable {
    public let elementType: GGUFValueType
    public let count: Int
    let storage: Storage
    let path: String
    /// Where the first element lies.
    let start: Int

    /// The elements one by one.
    private func read<Element>(_ element: (GGUFValue) -> Element?, _ expected: String) throws -> [Element] {
        var cursor = GGUFCursor(storage, path: path, at: start)
        var result: [Element] = []
        result.reserveCapacity(count)
        for _ in 0..<count {
            guard let value = element(try cursor.value(elementType, "an array element")) else {
                throw fail(expected)
            }
            result.append(value)
        }
        return result
    }

    /// - Throws: `GGUFError` where the elements are no strings or no UTF-8.
    public func strings() throws -> [String] { try read(\.stringValue, "strings") }

    /// The bytes of each string: tokens need not be UTF-8.
    ///
    /// - Throws: `GGUFError` where the elements are no strings.
    public func byteStrings() throws -> [[UInt8]] {
        guard elementType == .string else { throw fail("strings") }
        var cursor = GGUFCursor(storage, path: path, at: start)
        var result: [[UInt8]] = []
        result.reserveCapacity(count)
        for _ in 0..<count {
            let bytes = try cursor.bytes("an array element")
            result.append(storage.withUnsafeBytes { Array($0[bytes]) })
        }
        return result
    }

    private func fail(_ expected: String) -> GGUFError {
        GGUFError(path: path, place: .byte(start), reason: "an array of \(elementType.pluralName), expected \(expected)")
    }

    /// - Throws: `GGUFError` where the elements are no integers that fit.
    public func integers() throws -> [Int] { try read(\.intValue, "integers") }

    /// - Throws: `GGUFError` where the elements are no numbers.
    public func floats() throws -> [Float] { try read({ $0.doubleValue.map { Float($0) } }, "numbers") }

    /// - Throws: `GGUFError` where the elements are no booleans.
    public func bools() throws -> [Bool] { try read(\.boolValue, "booleans") }
}
