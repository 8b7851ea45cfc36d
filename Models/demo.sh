#!/usr/bin/env bash
# The main job, end to end: Models/demo.sh FOLDER_OF_TOOLS
set -euo pipefail
tools=$(realpath "$1")
cd "$(dirname "$0")/.."

# Shows a command as it would be typed, then runs it.
step() {
    printf '\n$'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./=-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@"
}

step python3 Models/fetch.py minilm minilm-int8 smollm2
step Models/convert.sh "$tools/mlconv" minilm minilm-int8 smollm2

PATH="$tools:$PATH"
step mlrun classify "I love this" "The parcel arrived on Tuesday." "Never again: it broke after a day."
step mlrun similarity "A man is eating food." "Someone is having a meal."
step mlrun embed --format json "A sentence becomes 384 numbers." | cut -c1-120
step mlrun similarity -m minilm-int8 "A man is eating food." "Someone is having a meal."

lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
cat > "$lines" <<'TEXT'
How do I reset my password?
The invoice is due at the end of the month.
Our office is closed on public holidays.
You can change your login details in the account settings.
Shipping takes three to five working days.
TEXT
step mlrun search --in "$lines" --top 3 "I forgot my login"

step mlrun generate --greedy --max-tokens 24 --echo "The capital of France is"
step mlrun chat --greedy --max-tokens 60 "Why is the sky blue?"
