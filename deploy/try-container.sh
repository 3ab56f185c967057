#!/bin/bash
# Runs the image that deploy/Containerfile describes without a container engine: the program in a
# Debian root, as process 1 of its own process namespace, as the user and with the variables of the
# file. Fills it, and stops it with SIGTERM while orders arrive: the stream is finished, the exit
# status is 0, and every acknowledged order is stored. Needs root, iproute2, curl, jq, and mmdebstrap
# unless a root is given.
#
#   deploy/try-container.sh target/release/kiosque [SUITE or ROOT.tar]
set -euo pipefail

program=$(realpath "$1")
suite=${2:-bookworm}
file=$(dirname "$(realpath "$0")")/Containerfile
if [ -z "${IN_NAMESPACE-}" ]; then
    IN_NAMESPACE=1 exec unshare --mount --net --fork "$0" "$@"
fi
ip link set lo up
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

if [ -f "$suite" ]; then
    mkdir "$root"
    tar --extract --file "$suite" --directory "$root"
else
    mmdebstrap --quiet --variant=minbase "$suite" "$root"
fi
install -m 0755 "$program" "$root/usr/bin/kiosque"
install -d -o 10001 -g 10001 -m 0700 "$root/var/lib/kiosque" "$root/var/backups/kiosque"
grep -q '^USER 10001:10001$' "$file"
variables=$(sed -n 's/^\(ENV\)\? *\(KIOSQUE_[A-Z_]*=[^ ]*\).*/\2/p' "$file")

# Becomes process 1 of a process namespace. Input is that of the caller.
container() {
    # shellcheck disable=SC2086 # one argument a variable
    exec env -i PATH="$PATH" $variables unshare --pid --fork chroot --userspec=10001:10001 \
        "$root" /usr/bin/kiosque "$@"
}
run() { (container "$@"); }
step() { echo "== $*"; }

step fill
cat >"$root/fleet.toml" <<'END'
[[group]]
id = "north"
name = "North"

[[device]]
code = "K-001"
name = "Station hall"
group = "north"
END
run apply /fleet.toml --timezone Europe/Paris
key=$(run operator-key create tills --may orders,read)

step serve
container serve 2>"$work/log" &
engine=$!
cert=$root/var/lib/kiosque/tls/cert.pem
operator=https://127.0.0.1:8444
until curl --silent --cacert "$cert" $operator/readyz; do
    kill -0 $engine || { cat "$work/log"; exit 1; }
    sleep 0.2
done
server=$(cat "/proc/$engine/task/$engine/children")
server=${server// /}
grep -q '^NSpid:.*[[:space:]]1$' "/proc/$server/status"

step "SIGTERM while orders arrive"
order() { echo "{\"orderId\":\"A$1\",\"deviceCode\":\"K-001\",\"currency\":\"EUR\",\"totalAmount\":150,\"tradeStartTime\":\"2026-03-02 10:00:00\"}"; }
# Lines before the signal, and more once the server has said that it stops.
lines() {
    for number in $(seq 1 500); do order "$number"; done
    until grep -q 'orders_are_stored' "$work/phase"; do sleep 0.1; done
    kill -TERM "$server"
    until grep -q 'stopping' "$work/log"; do sleep 0.1; done
    for number in $(seq 501 700); do order "$number"; done
}
: >"$work/phase"
lines | curl --silent --show-error --cacert "$cert" -H "Authorization: Bearer $key" -T - -X POST \
    $operator/operator/v1/orders >"$work/answer" &
sending=$!
stored() { curl --silent --cacert "$cert" -H "Authorization: Bearer $key" $operator/operator/v1/status | jq .orderCount; }
until [ "$(stored)" = 500 ]; do sleep 0.2; done
echo orders_are_stored >"$work/phase"
wait $sending
cat "$work/answer"
echo
test "$(jq .accepted "$work/answer")" = 700
if wait $engine; then echo "exit status 0"; else echo "exit status $?"; exit 1; fi
run verify | grep '^verified: 700 orders '
step done
