extension AddedTokenMatcher {
    /// The tokens and the stretches between them, in order, where the longest token of the whole text is taken first, then
    /// the next one in what is left, and so on; of equally long ones the leftmost. Only the white space of ASCII is stripped.
    func splitLongestFirst(_ text: UnsafeBufferPointer<UInt8>, _ found: (_ start: Int, _ end: Int, AddedToken?) -> Void) {
        var places: [Int] = []
        var lengths: Set<Int> = []
        for index in text.indices where isFirstByte[Int(text[index])] {
            var node = TokenTrie.root
            var end = index
            var isPlace = false
            while end < text.count {
                node = trie.child(of: node, text[end])
                if node < 0 { break }
                end += 1
                if trie.value(of: node) != nil {
                    lengths.insert(end - index)
                    isPlace = true
                }
            }
            if isPlace { places.append(index) }
        }
        guard !places.isEmpty else {
            if !text.isEmpty { found(0, text.count, nil) }
            return
        }
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }
        var isTaken = [Bool](repeating: false, count: text.count)
        var matches: [(start: Int, end: Int, token: AddedToken)] = []
        for length in lengths.sorted(by: >) {
            for place in places where place + length <= text.count {
                let range = place..<(place + length)
                guard let value = trie.find(UnsafeBufferPointer(rebasing: text[range])), range.allSatisfy({ !isTaken[$0] }) else {
                    continue
                }
                let token = tokens[Int(value)]
                var (start, end) = (range.lowerBound, range.upperBound)
                if token.stripsLeft { while start > 0, !isTaken[start - 1], isSpace(text[start - 1]) { start -= 1 } }
                if token.stripsRight { while end < text.count, !isTaken[end], isSpace(text[end]) { end += 1 } }
                for index in start..<end { isTaken[index] = true }
                matches.append((start, end, token))
            }
        }
        var done = 0
        for match in matches.sorted(by: { $0.start < $1.start }) {
            if done < match.start { found(done, match.start, nil) }
            found(match.start, match.end, match.token)
            done = match.end
        }
        if done < text.count { found(done, text.count, nil) }
    }
}
