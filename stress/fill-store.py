#!/usr/bin/env python3
"""Fills a store that no gateway has open with received webhooks, each with its delivered notification.

  fill-store.py STORE/hookbell.db [100000]
"""

import sqlite3
import sys
import time

WEBHOOKS = """
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
    INSERT INTO webhook (id, received_at, source, size, head, body, verdict)
    SELECT randomblob(16), ? - 10000000 + n * 10000000 / ?, 'bench', 600, '["POST",[],[],[["host","x"]]]',
        CAST('{"n":' || n || ',"x":"' || hex(zeroblob(250)) || '"}' AS BLOB), '{"outcome":"published","rules":["all"]}' FROM n
"""
NOTIFICATIONS = """
    INSERT INTO notification
        (state, due_at, received_at, waiting_since, settled_at, attempts, id, webhook, source, server, topic, rule, payload)
    SELECT 1, 0, received_at, received_at, received_at + 5, 1, randomblob(16), id, 'bench', 'default', 't', 'all',
        '{"topic":"t","message":"' || seq || '","x":"' || hex(zeroblob(200)) || '"}' FROM webhook
"""

count = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
store = sqlite3.connect(sys.argv[1])
store.execute(WEBHOOKS, [count, int(time.time() * 1000), count])
store.execute(NOTIFICATIONS)
store.commit()
store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
