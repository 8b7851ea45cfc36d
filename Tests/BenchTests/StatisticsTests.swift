@testable import BenchmarkSuite
import Testing

@Suite struct StatisticsTests {
    @Test func quantilesAreThoseOfDefinition7() throws {
        // numpy.quantile([7, 1, 3, 10, 2], [0, 0.25, 0.5, 0.75, 0.9, 1]) = 1, 2, 3, 7, 8.8, 10
        let statistics = try #require(Statistics([7, 1, 3, 10, 2]))
        #expect([0, 0.25, 0.5, 0.75, 1].map(statistics.quantile) == [1, 2, 3, 7, 10])
        #expect(abs(statistics.quantile(0.9) - 8.8) < 1e-12)
        // numpy.quantile([1, 2, 3, 4], [0.25, 0.5]) = 1.75, 2.5
        let even = try #require(Statistics([4, 3, 2, 1]))
        #expect(even.lowerQuartile == 1.75)
        #expect(even.median == 2.5)
    }

    @Test func nothingHasNoMedian() {
        #expect(Statistics([]) == nil)
        #expect(Statistics([1, .nan]) == nil)
    }

    @Test func ratiosPairRoundsSoThatADisturbedRoundCancels() throws {
        let ratios = try #require(Statistics.ratios(of: [2, 20, 2], to: [1, 10, 1]))
        #expect(ratios.minimum == 2)
        #expect(ratios.maximum == 2)
        #expect(Statistics.ratios(of: [1], to: [0]) == nil)
    }

    @Test func agreementIsTheLeastCosineOfVectors() {
        #expect(Agreement.measure(.encode, [[1, 0], [0, 2]], [[2, 0], [0, 1]]) == 1)
        #expect(abs(Agreement.measure(.encode, [[1, 0], [1, 1]], [[1, 0], [1, 0]]) - 0.5.squareRoot()) < 1e-12)
        #expect(Agreement.measure(.encode, [[1, 0]], [[1, 0], [1, 0]]) == 0)
        #expect(Agreement.measure(.encode, [[1, 0]], [[1, 0, 0]]) == 0)
    }

    @Test func logProbabilitiesAgreeByCorrelationSoThatALevelInCommonDoesNotHideErrors() {
        #expect(abs(Agreement.measure(.prompt, [[-10, -11, -12]], [[-9, -10, -11]]) - 1) < 1e-12)
        #expect(Agreement.measure(.prompt, [[-10, -11, -12]], [[-12, -11, -10]]) < 0)
    }

    @Test func tokensAgreeUpToTheFirstDifference() {
        #expect(Agreement.measure(.decode, [[1, 2, 3, 4]], [[1, 2, 9, 4]]) == 0.5)
        #expect(Agreement.measure(.tokenize, [[1, 2], [3]], [[1, 2], [3, 4]]) == 0.75)
        #expect(Agreement.required(.tokenize, nil) == 1)
        #expect(Agreement.required(.decode, .f32) == nil)
    }
}
