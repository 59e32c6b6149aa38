#!/usr/bin/env python3
"""Records histories of a real Redis and a real etcd server, on the loopback interface only.

    record.py redis-queue | redis-register | etcd-register  [--restart] [--durable] [-o FILE]

Starts the server in a fresh temporary folder, lets several clients call operations at once, and writes one JSON line an
operation, in order of return. With --restart the server process is killed (SIGKILL) half-way and started again on the same
folder: operations in flight get no answer and are written as pending (no return), and operations that could not even connect
are written with "failed": true. A client whose operation got no answer goes on under a new process number.
--durable lets Redis log every write before it answers; without it Redis keeps everything in memory only.
"""

import argparse
import base64
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

REDIS_PORT, ETCD_PORT, ETCD_PEER_PORT = 26379, 22379, 22380
TIMEOUT_S = 1.0


class NotSent(Exception):
    """The server could not be reached: the operation has certainly not taken effect."""


class NoAnswer(Exception):
    """The operation was sent and no answer came: it may have taken effect or not."""


class Redis:
    """A client that speaks RESP over one socket."""

    SWAP = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 else return 0 end"

    def __init__(self):
        self.socket = None

    @staticmethod
    def command(folder, durable):
        log = ["--appendonly", "yes", "--appendfsync", "always"] if durable else ["--appendonly", "no"]
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(REDIS_PORT), "--dir", folder, "--save", "", *log]

    def send(self, *words):
        if self.socket is None:
            try:
                self.socket = socket.create_connection(("127.0.0.1", REDIS_PORT), TIMEOUT_S)
                self.replies = self.socket.makefile("rb")
            except OSError as error:
                raise NotSent from error
        parts = [b"*%d\r\n" % len(words)]
        for word in (str(w).encode() for w in words):
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        try:
            self.socket.sendall(b"".join(parts))
            return self.reply()
        except (OSError, ValueError) as error:
            self.socket = None
            raise NoAnswer from error

    def reply(self):
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection ended")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.replies.read(int(rest) + 2)[:-2].decode()
        if kind == b"-":
            raise OSError(rest.decode())
        return rest.decode()


class RedisQueue(Redis):
    """A list used as a queue: LPUSH at one end, RPOP at the other. Every value is enqueued once."""

    counter = 0
    lock = threading.Lock()

    def call(self, rng):
        if rng.random() < 0.5:
            with RedisQueue.lock:
                RedisQueue.counter += 1
                value = RedisQueue.counter
            return "enqueue", value, lambda: self.send("LPUSH", "queue", value) and None
        return "dequeue", None, lambda: number(self.send("RPOP", "queue"))


class RedisRegister(Redis):
    """A key with SET, GET, and compare-and-set by a Lua script."""

    def call(self, rng):
        pick, value = rng.random(), rng.randrange(5)
        if pick < 0.4:
            return "read", None, lambda: number(self.send("GET", "register"))
        if pick < 0.7:
            return "write", value, lambda: self.send("SET", "register", value) and None
        old = rng.randrange(5)
        return "cas", [old, value], lambda: self.send("EVAL", self.SWAP, 1, "register", old, value) == "1"


class EtcdRegister:
    """A key with put, range, and compare-and-set as a transaction, through etcd's JSON gateway."""

    KEY = base64.b64encode(b"register").decode()

    def __init__(self):
        self.connection = None

    @staticmethod
    def command(folder, durable):
        client, peer = f"http://127.0.0.1:{ETCD_PORT}", f"http://127.0.0.1:{ETCD_PEER_PORT}"
        return ["etcd", "--data-dir", folder + "/data", "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]

    def post(self, path, body):
        if self.connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", ETCD_PORT, timeout=TIMEOUT_S)
            try:
                connection.connect()
            except OSError as error:
                raise NotSent from error
            self.connection = connection
        try:
            self.connection.request("POST", path, json.dumps(body))
            response = self.connection.getresponse()
            text = response.read()
            if response.status != 200:
                raise OSError(text.decode())
            return json.loads(text)
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            raise NoAnswer from error

    def call(self, rng):
        pick, value = rng.random(), rng.randrange(5)
        if pick < 0.4:
            return "read", None, self.read
        put = {"key": self.KEY, "value": encode(value)}
        if pick < 0.7:
            return "write", value, lambda: self.post("/v3/kv/put", put) and None
        old = rng.randrange(5)
        compare = {"key": self.KEY, "target": "VALUE", "result": "EQUAL", "value": encode(old)}
        swap = {"compare": [compare], "success": [{"requestPut": put}]}
        return "cas", [old, value], lambda: self.post("/v3/kv/txn", swap).get("succeeded", False)

    def read(self):
        entries = self.post("/v3/kv/range", {"key": self.KEY}).get("kvs", [])
        return int(base64.b64decode(entries[0]["value"])) if entries else None


SUBJECTS = {"redis-queue": RedisQueue, "redis-register": RedisRegister, "etcd-register": EtcdRegister}


def number(text):
    return None if text is None else int(text)


def encode(value):
    return base64.b64encode(str(value).encode()).decode()


class Recording:
    """Clients that call operations, and the rows they leave."""

    def __init__(self, subject, clients, operations):
        self.subject, self.clients, self.target = subject, clients, operations
        self.rows, self.lock, self.next_process, self.start = [], threading.Lock(), clients, time.monotonic_ns()

    def client(self, process):
        rng, connection = random.Random(process), self.subject()
        while len(self.rows) < self.target:
            op, arg, run = connection.call(rng)
            row = {"process": process, "op": op, "arg": arg, "ret": None, "call": self.now(), "return": None}
            try:
                row["ret"] = run()
                row["return"] = self.now()
            except NotSent:
                row["return"], row["failed"] = self.now(), True
                time.sleep(0.1)
            except NoAnswer:
                with self.lock:
                    process, self.next_process = self.next_process, self.next_process + 1
            with self.lock:
                self.rows.append(row)
            time.sleep(rng.expovariate(1 / 0.0005))

    def now(self):
        return time.monotonic_ns() - self.start

    def run(self, at_half):
        threads = [threading.Thread(target=self.client, args=(p,)) for p in range(self.clients)]
        for thread in threads:
            thread.start()
        while len(self.rows) < self.target // 2:
            time.sleep(0.001)
        at_half()
        for thread in threads:
            thread.join()
        pending = lambda row: (row["return"] is None, row["return"] or row["call"])
        return sorted(self.rows, key=pending)


class Server:
    """The server process, and its end and new beginning."""

    def __init__(self, command):
        self.command = command
        self.begin()

    def begin(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self, subject):
        while True:
            try:
                return subject().call(random.Random(0))[2]()
            except (NotSent, NoAnswer):
                time.sleep(0.05)

    def restart(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        time.sleep(0.2)
        self.begin()

    def end(self):
        self.process.terminate()
        self.process.wait()


class RedisReady(Redis):
    """A harmless command, to wait until Redis answers."""

    def call(self, rng):
        return "ping", None, lambda: self.send("PING")


class EtcdReady(EtcdRegister):
    """A harmless request, to wait until etcd answers."""

    def call(self, rng):
        return "read", None, self.read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--durable", action="store_true")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--operations", type=int, default=2000)
    parser.add_argument("-o", "--output", default="-")
    options = parser.parse_args()
    subject = SUBJECTS[options.subject]
    redis = issubclass(subject, Redis)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(subject.command(folder, options.durable))
        try:
            server.wait(RedisReady if redis else EtcdReady)
            recording = Recording(subject, options.clients, options.operations)
            rows = recording.run(server.restart if options.restart else lambda: None)
        finally:
            server.end()
    output = sys.stdout if options.output == "-" else open(options.output, "w", encoding="utf-8")
    with output:
        for row in rows:
            output.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
