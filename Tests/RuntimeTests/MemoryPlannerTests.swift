import TestSupport
import Testing

@testable import Runtime

@Suite struct MemoryPlannerTests {
    @Test func blocksThatLiveAtOnceNeverOverlap() throws {
        var random = SeededRandom(seed: 3)
        for _ in 0..<50 {
            var planner = MemoryPlanner()
            let blocks = (0..<random.int(1..<40)).map { _ in
                let first = random.int(0..<20)
                return MemoryPlanner.Block(byteCount: random.int(0..<5000), first: first, last: first + random.int(0..<8))
            }
            for block in blocks { _ = planner.add(block) }
            let (offsets, total) = try #require(planner.place())
            for (i, a) in blocks.enumerated() {
                #expect(offsets[i] % 64 == 0)
                #expect(offsets[i] + a.byteCount <= total)
                for (j, b) in blocks.enumerated() where i < j && a.first <= b.last && b.first <= a.last {
                    #expect(offsets[i] + a.byteCount <= offsets[j] || offsets[j] + b.byteCount <= offsets[i])
                }
            }
        }
    }

    @Test func memoryIsUsedAgain() throws {
        var planner = MemoryPlanner()
        for step in 0..<10 { _ = planner.add(.init(byteCount: 640, first: step, last: step + 1)) }
        #expect(try #require(planner.place()).byteCount == 1280)
    }

    @Test func sizesBeyondIntAreRefused() {
        var planner = MemoryPlanner()
        for _ in 0..<3 { _ = planner.add(.init(byteCount: .max - 100, first: 0, last: 0)) }
        #expect(planner.place() == nil)
    }
}
