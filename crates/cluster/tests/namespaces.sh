#!/bin/sh
# Four hosts in four network namespaces, one of them cut off and healed.
#
#   sh crates/cluster/tests/namespaces.sh LINPOINT THROUGHPUT [OPERATIONS]
#
# LINPOINT is the binary, THROUGHPUT the example of linpoint-cluster that makes histories. Needs root and iproute2; where namespaces cannot be made it says so and ends with 77.
#
# 1. undisturbed: all hosts say the same;
# 2. a cut shorter than the patience: nobody says anything while it lasts, and after it all say what they said before;
# 3. a cut longer than the patience: every host says `unknown` and names a host; healed and started again, the run goes on from its checkpoints and all say what they said before.
set -eu

linpoint=$(realpath "$1")
throughput=$(realpath "$2")
operations=${3:-8000000}
work=$(mktemp -d)
bridge=lpbr$$

fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIPPED, NOTHING WAS TESTED: $*" >&2; exit 77; }

clean() {
    for host in 0 1 2 3; do
        [ -f "$work/pid$host" ] && kill -9 "$(cat "$work/pid$host")" 2>/dev/null || true
        ip netns del "lp$$-$host" 2>/dev/null || true
    done
    ip link del "$bridge" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT

ip link add "$bridge" type bridge 2>/dev/null || skip "no bridge can be made here (root and iproute2 are needed)"
ip link set "$bridge" up
for host in 0 1 2 3; do
    ip netns add "lp$$-$host" 2>/dev/null || skip "no network namespace can be made here"
    ip link add "lp$$v$host" type veth peer name eth0 netns "lp$$-$host" || skip "no pair of links can be made here"
    ip link set "lp$$v$host" master "$bridge" up
    ip -n "lp$$-$host" addr add "10.77.0.$((host + 1))/24" dev eth0
    ip -n "lp$$-$host" link set eth0 up
    ip -n "lp$$-$host" link set lo up
    echo "10.77.0.$((host + 1)):7431" >> "$work/hosts"
done
echo "a word that only these hosts know" > "$work/token"
"$throughput" make "$work/parts" "$operations" 40000 4 0 together > /dev/null

# start NAME: all four hosts, in the background.
start() {
    for host in 0 1 2 3; do
        ip netns exec "lp$$-$host" "$linpoint" check --merge --json --spec kv --hosts "$work/hosts" --host "$host" --token "$work/token" \
            --patience 5s --progress "$work/progress" "$work/parts/register-$host.bin@register" "$work/parts/kv-$host.bin@kv" \
            "$work/parts/queue-$host.bin@queue" > "$work/$1.$host" 2> "$work/$1.$host.err" &
        echo $! > "$work/pid$host"
    done
}

# finish NAME CODE: waits for all four; each must end with CODE.
finish() {
    for host in 0 1 2 3; do
        code=0
        wait "$(cat "$work/pid$host")" || code=$?
        rm "$work/pid$host"
        [ "$code" = "$2" ] || fail "$1: host $host ended with $code, not $2: $(cat "$work/$1.$host" "$work/$1.$host.err")"
    done
}

# what NAME HOST: the verdict and the counts.
what() { grep -o '"\(verdict\|operations\|objects\|explained_objects\)":[^,}]*' "$work/$1.$2" | sort | tr '\n' ' '; }

same() {
    for host in 0 1 2 3; do
        [ "$(what "$1" "$host")" = "$expected" ] || fail "$1: host $host says $(what "$1" "$host"), not $expected"
    done
}

# Waits until the run is well under way.
under_way() {
    tries=0
    while [ "$(ls "$work/progress" 2>/dev/null | grep -c 'progress$')" -lt 8 ]; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || fail "no checkpoint within a minute"
        sleep 0.02
    done
}

start calm
finish calm 0
expected=$(what calm 0)
[ -n "$expected" ] || fail "nothing was said: $(cat "$work/calm.0")"
same calm
echo "undisturbed: $expected"

rm -rf "$work/progress"
start short
under_way
ip link set "lp$$v3" down
sleep 2
for host in 0 1 2 3; do
    [ ! -s "$work/short.$host" ] || fail "host $host has a verdict while host 3 is cut off: $(cat "$work/short.$host")"
done
ip link set "lp$$v3" up
finish short 0
same short
echo "cut off for 2 s and healed: nothing was said meanwhile, and the same in the end"

rm -rf "$work/progress"
start long
under_way
ip link set "lp$$v3" down
finish long 3
for host in 0 1 2; do
    grep -q 'host 3' "$work/long.$host" "$work/long.$host.err" || fail "host $host does not name host 3: $(cat "$work/long.$host" "$work/long.$host.err")"
done
echo "cut off for longer than the patience: unknown at every host: $(cat "$work/long.0" "$work/long.0.err" | head -c 300)"
ip link set "lp$$v3" up
start again
finish again 0
same again
grep -q '"resumed":[1-9]' "$work/again.0" || fail "it began from the start"
echo "healed and started again: the same, from $(grep -o '"resumed":[0-9]*' "$work/again.0")"
