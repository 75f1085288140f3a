#!/usr/bin/env bash
# progress.sh [tests]: reads the output of `swift build`, and prints what is built, for how long, and about how long it
# will take; with `tests`, of a build that ends with the tests.
#
# On a terminal that is one line, drawn anew each second; elsewhere a line each 15 s. Other output is passed on, but for
# two warnings about packages of others, which SwiftPM repeats at each step.
set -euo pipefail

# How much of a build of the program is done when a module begins, in thousandths, as measured on two cores. The count
# of steps says little: the short ones come first, and their number grows. Before the first of these modules come the C
# files, and there the square of the count fits.
declare -A shares=(
    [NIOCore]=540 [ArgumentParser]=600 [NIOPosix]=630 [NIOSSL]=760 [Hummingbird]=830 [AsyncHTTPClient]=850 [Jobs]=910
    [Command]=980)
program=1000
if [ "${1:-}" = tests ]; then
    # Of the whole, the program is that much.
    program=700
    shares+=([JobsTests]=1040 [ErrandTests]=1150 [EndToEndTests]=1270 [CommandTests]=1370)
fi

every=15
[ ! -t 1 ] || every=1
began=$SECONDS said=$((SECONDS - every)) reached=0
while IFS= read -r line; do
    if ! [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (Compiling|Emitting\ module|Linking)\ ([^ ]+) ]]; then
        case $line in
            '['*/*']'*) continue ;;
            'warning: prohibited flag(s)'* | 'warning: '*'unhandled; explicitly declare'* | '    /'*/checkouts/*) continue ;;
        esac
        [ "$every" -ne 1 ] || printf '\r\033[K'
        printf '%s\n' "$line"
        continue
    fi
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} module=${BASH_REMATCH[4]}
    share=${shares[$module]:-0}
    [ "$share" -le "$reached" ] || reached=$share
    [ $((SECONDS - said)) -ge "$every" ] || continue
    said=$SECONDS spent=$((SECONDS - began)) share=$reached
    [ "$share" -gt 0 ] || share=$((540 * done * done / all / all))
    share=$((share * program / 1000)) left=
    if [ "$share" -gt 10 ] && [ "$spent" -ge 5 ]; then
        left=", about $((spent * (1000 - share) / share / 60 + 1)) min left"
    fi
    text=$(printf '    building %s: %d %%, %d:%02d%s' "$module" $((share / 10)) $((spent / 60)) $((spent % 60)) "$left")
    if [ "$every" -eq 1 ]; then printf '\r\033[K%s' "${text:0:${COLUMNS:-100}}"; else printf '%s\n' "$text"; fi
done
[ "$every" -ne 1 ] || printf '\r\033[K'
