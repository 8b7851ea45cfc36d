import Testing

@testable import Tensors

/// Exact division of dimension expressions, as exporters write it who count a size as "all elements by the others".
@Suite struct DimDivisionTests {
    private let a = Dim.symbol("a")
    private let b = Dim.symbol("b")
    private let c = Dim.symbol("c")

    @Test func quotientsThatAreExact() throws {
        let sum = try b + c
        #expect(try (32 * a * b + 32 * a * c).dividedExactly(by: 8 * sum) == 4 * a)
        #expect(try (sum * sum).dividedExactly(by: sum) == sum)
        #expect(try ((b + c) * (b - c)).dividedExactly(by: b - c) == sum)
        #expect(try Dim.apply(.floordiv, 6 * a * sum, 2 * sum) == 3 * a)
        #expect(try Dim.apply(.mod, 6 * a * sum, 2 * sum) == 0)
        #expect(try (6 * a * b).dividedExactly(by: 3 * b) == 2 * a)
    }

    @Test func quotientsThatAreNot() throws {
        let sum = try b + c
        #expect(try (a * b + a * c + 1).dividedExactly(by: sum) == nil)
        #expect(try (3 * a * sum).dividedExactly(by: 2 * sum) == nil)
        #expect(a.dividedExactly(by: sum) == nil)
        #expect(a.dividedExactly(by: 0) == nil)
        #expect(try (sum + 1).dividedExactly(by: sum) == nil)
        // What cannot be divided stays a call, which a run works out.
        let call = try Dim.apply(.floordiv, a * b + 1, sum)
        #expect(try call.evaluate(["a": 5, "b": 3, "c": 1]) == 4)
    }
}
