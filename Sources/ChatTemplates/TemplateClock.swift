import Foundation

/// The local time that `strftime_now` formats.
public struct TemplateClock: Sendable {
    private let moment: @Sendable () -> Moment

    private struct Moment: Sendable {
        var year, month, day, hour, minute, second: Int
    }

    /// The time at which a template asks, in the time zone of the machine.
    public static let current = TemplateClock {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Moment(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday), hour: Int(parts.tm_hour),
            minute: Int(parts.tm_min), second: Int(parts.tm_sec))
    }

    /// Always the same time, for renderings that are compared.
    ///
    /// - Returns: nil for what the calendar does not have.
    public static func fixed(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) -> TemplateClock? {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= length(of: month, year), (0..<24).contains(hour), (0..<60).contains(minute),
            (0..<60).contains(second)
        else { return nil }
        let moment = Moment(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        return TemplateClock { moment }
    }

    private init(_ moment: @escaping @Sendable () -> Moment) { self.moment = moment }

    private static func length(of month: Int, _ year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    private static let months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

    /// C's `strftime` with English names; `%-d` leaves the leading zero away.
    func formatted(_ format: String, _ a: Arguments) throws -> String {
        let now = moment()
        var result = ""
        var scalars = try a.interpreter.scalars(format)[...]
        while let scalar = scalars.popFirst() {
            guard scalar == "%" else {
                result.unicodeScalars.append(scalar)
                continue
            }
            var isPlain = false
            if scalars.first == "-" {
                isPlain = true
                scalars.removeFirst()
            }
            guard let directive = scalars.popFirst() else { throw a.error("a time format that ends in '%'") }
            guard let text = Self.text(directive, isPlain, now) else { throw a.error("the time format '%\(directive)' is not supported") }
            result += text
        }
        return result
    }

    private static func text(_ directive: Unicode.Scalar, _ isPlain: Bool, _ now: Moment) -> String? {
        func padded(_ value: Int, _ width: Int = 2, with fill: String = "0") -> String {
            let digits = String(value)
            return isPlain ? digits : String(repeating: fill, count: max(0, width - digits.utf8.count)) + digits
        }
        let dayOfYear = now.day + (1..<now.month).reduce(0) { $0 + length(of: $1, now.year) }
        // Days since 1 January of year 1, a Monday.
        let years = now.year - 1
        let weekday = (years * 365 + years / 4 - years / 100 + years / 400 + dayOfYear) % 7
        func joined(_ directives: String, _ separator: String) -> String? {
            let parts = directives.unicodeScalars.compactMap { text($0, false, now) }
            return parts.joined(separator: separator)
        }
        switch directive {
        case "Y": return String(now.year)
        case "y": return padded(now.year % 100)
        case "m": return padded(now.month)
        case "d": return padded(now.day)
        case "e": return padded(now.day, with: " ")
        case "H": return padded(now.hour)
        case "I": return padded((now.hour + 11) % 12 + 1)
        case "M": return padded(now.minute)
        case "S": return padded(now.second)
        case "f": return "000000"
        case "j": return padded(dayOfYear, 3)
        case "p": return now.hour < 12 ? "AM" : "PM"
        case "B": return months[now.month - 1]
        case "b", "h": return String(months[now.month - 1].prefix(3))
        case "A": return weekdays[weekday]
        case "a": return String(weekdays[weekday].prefix(3))
        case "w": return String(weekday)
        case "u": return String(weekday == 0 ? 7 : weekday)
        case "F": return joined("Ymd", "-")
        case "T", "X": return joined("HMS", ":")
        case "R": return joined("HM", ":")
        case "D", "x": return joined("mdy", "/")
        case "c": return joined("abeTY", " ")
        // A time without a zone has no name of one.
        case "Z", "z": return ""
        case "%": return "%"
        case "n": return "\n"
        case "t": return "\t"
        default: return nil
        }
    }
}
