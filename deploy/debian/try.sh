#!/bin/bash
# Takes the package through its life in a new Debian root: install, fill, serve by the command of the
# unit, look, back up, restore, upgrade, fail to upgrade, remove, purge. Needs root, iproute2, and
# mmdebstrap unless a root is given.
#
#   deploy/debian/try.sh target/package/kiosque_*.deb [SUITE or ROOT.tar]
set -euo pipefail

package=$(realpath "$1")
suite=${2:-bookworm}
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

if [ -f "$suite" ]; then
    mkdir "$root"
    tar --extract --file "$suite" --directory "$root"
else
    mmdebstrap --quiet --variant=minbase \
        --include=ca-certificates,curl,systemd-standalone-sysusers "$suite" "$root"
fi

# The next version of the package, with the same program.
dpkg-deb --raw-extract "$package" "$work/next"
sed -i 's/^Version: .*/&+next/' "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Znone --build "$work/next" "$work/next.deb" >/dev/null
# A version that cannot be unpacked.
printf '#!/bin/sh\nexit 1\n' >"$work/next/DEBIAN/preinst"
chmod 755 "$work/next/DEBIAN/preinst"
dpkg-deb --root-owner-group -Znone --build "$work/next" "$work/broken.deb" >/dev/null
cp "$package" "$root/tmp/kiosque.deb"
cp "$work/next.deb" "$work/broken.deb" "$root/tmp/"

cat >"$root/tmp/fleet.toml" <<'END'
[[group]]
id = "north"
name = "North"

[[account]]
login_name = "acme"
password = "change-me"
third_party_api = true
groups = ["north"]

[[device]]
code = "K-001"
name = "Station hall"
group = "north"
END
cat >"$root/tmp/orders.ndjson" <<'END'
{"orderId":"A1","deviceCode":"K-001","currency":"EUR","totalAmount":150,"tradeStartTime":"2026-03-02 10:00:00","payEndTime":"2026-03-02 10:00:20"}
END

cat >"$root/tmp/life.sh" <<'END'
set -euo pipefail
cd /tmp
step() { echo "== $*"; }
kq() { runuser -u kiosque -- kiosque --config /etc/kiosque/kiosque.toml "$@"; }
# Becomes the command of a unit, with its user and its umask.
unit() {
    local command
    command=$(sed -n 's/^ExecStart=//p' "/usr/lib/systemd/system/$1")
    umask 0077
    cd /var/lib/kiosque
    exec setpriv --reuid=kiosque --regid=kiosque --init-groups $command
}
serve() {
    unit kiosque.service 2>/tmp/serve.log &
    server=$!
    until curl --silent --cacert /var/lib/kiosque/tls/cert.pem https://127.0.0.1:8444/readyz; do
        kill -0 $server || { cat /tmp/serve.log; exit 1; }
        sleep 0.2
    done
}
stop() { kill $server && wait $server; }
orders() {
    local base=https://127.0.0.1:8443/v8 token
    call() { curl --silent --show-error --cacert /var/lib/kiosque/tls/cert.pem -H "third-api-token: ${token-}" "$base/$1" -d "$2"; }
    token=$(call platform-auth/auth/third-api/token '{"username":"acme","password":"change-me"}' | sed 's/.*"accessToken":"\([^"]*\)".*/\1/')
    call third-center-web/openapi/v1/kioskOrder/queryOrderList '{"deviceCode":"K-001"}' | grep -o '"total":[0-9]*'
}

step install
dpkg --install kiosque.deb
test "$(stat -c '%U:%G %a' /etc/kiosque/kiosque.toml)" = "root:kiosque 640"
test "$(stat -c '%U:%G %a' /var/lib/kiosque /var/backups/kiosque | uniq)" = "kiosque:kiosque 700"
kiosque --version
test -s /usr/share/man/man1/kiosque-serve.1.gz

step fill
kq apply fleet.toml --timezone Europe/Paris
kq import orders orders.ndjson

step serve
serve
test "$(orders)" = '"total":1'

step look
kq status
kq status | grep -q '^orders: *1$'
kq status | grep -q "^servers: *serve (process $server)$"
kq device list
kq import list | grep -q /tmp/orders.ndjson
kq audit --event login | grep -q acme

step back up
(unit kiosque-backup.service)
stop

step restore
backup=$(ls /var/backups/kiosque/*.db)
kq restore "$backup"
kq verify
serve
test "$(orders)" = '"total":1'
stop

step upgrade
echo '# edited' >>/etc/kiosque/kiosque.toml
dpkg --install next.deb
grep -q '# edited' /etc/kiosque/kiosque.toml
serve
test "$(orders)" = '"total":1'
stop

step fail to upgrade
# In place of systemd's.
printf '#!/bin/sh\necho "$@" >>/tmp/units\necho enabled\n' >/usr/local/bin/systemctl
chmod +x /usr/local/bin/systemctl
mkdir -p /run/systemd/system
! dpkg --install broken.deb
tail -n 1 /tmp/units | grep -q 'start kiosque-backup.timer$'
grep -q 'start kiosque.service$' /tmp/units
rm -r /run/systemd/system /usr/local/bin/systemctl

step remove
dpkg --remove kiosque
test -e /var/lib/kiosque/kiosque.db -a -e "$backup" -a -e /etc/kiosque/kiosque.toml
dpkg --install next.deb
kq verify

step purge
# The data may be on a file system of its own.
mount --bind /var/lib/kiosque /var/lib/kiosque
dpkg --purge kiosque
umount /var/lib/kiosque
rmdir /var/lib/kiosque
test ! -e /etc/kiosque -a -e "$backup"
step done
END
# With processes and a network of its own: nothing remains, and no port is in use.
unshare --mount --pid --net --fork sh -ec '
    mount -t proc proc "$1/proc"
    ip link set lo up
    exec chroot "$1" bash /tmp/life.sh' sh "$root"
