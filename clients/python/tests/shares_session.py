"""A process that reads the orders of a group in a session that it shares. Prints the number of
orders, of logins, and of refused tokens."""

import sys
import threading

from kiosque_client import Account
from kiosque_client.transport import HttpsTransport

base_url, certificate, session_file, group = sys.argv[1:]


class Counting(HttpsTransport):
    logins = refused = 0
    lock = threading.Lock()

    def send(self, path, body, token, timeout):
        answer = super().send(path, body, token, timeout)
        with self.lock:
            self.logins += path.endswith("/token")
            self.refused += b'"code":-4' in answer.body
        return answer


def read():
    for _ in range(5):
        counts.append(sum(1 for _ in account.group(group).orders()))


transport, counts = Counting(base_url, certificate), []
with Account(base_url, "ops", password="secret", session_file=session_file,
             transport=transport) as account:
    # The processes begin together.
    print("ready", flush=True)
    sys.stdin.readline()
    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(counts), sum(counts), transport.logins, transport.refused)
