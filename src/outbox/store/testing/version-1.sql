    CREATE TABLE notification (
        seq         INTEGER PRIMARY KEY,        -- order of arrival
        state       INTEGER NOT NULL DEFAULT 0, -- 0 waiting, 1 delivered, 2 dead
        due_at      INTEGER NOT NULL,           -- Unix ms
        received_at INTEGER NOT NULL,           -- Unix ms
        settled_at  INTEGER,                    -- Unix ms, once delivered or dead
        attempts    INTEGER NOT NULL DEFAULT 0,
        id          BLOB NOT NULL UNIQUE,
        webhook     BLOB NOT NULL,
        source      TEXT NOT NULL,
        server      TEXT NOT NULL,
        topic       TEXT NOT NULL,
        rule        TEXT NOT NULL,
        reason      TEXT,                       -- of the latest failed attempt
        receipt     TEXT,
        payload     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX notification_due ON notification (server, due_at) WHERE state = 0;
    CREATE INDEX notification_age ON notification (received_at) WHERE state = 0;
    CREATE INDEX notification_settled ON notification (state, settled_at) WHERE state <> 0;
    CREATE TABLE webhook (
        seq         INTEGER PRIMARY KEY,        -- order of arrival
        id          BLOB NOT NULL UNIQUE,
        received_at INTEGER NOT NULL,           -- Unix ms
        source      TEXT NOT NULL,
        size        INTEGER NOT NULL,           -- bytes of head and body
        head        TEXT NOT NULL,              -- JSON: method, path, query, headers
        body        BLOB NOT NULL
    ) STRICT;
    CREATE TABLE probe (id INTEGER PRIMARY KEY CHECK (id = 1), at INTEGER NOT NULL) STRICT;
    INSERT INTO notification (seq, state, due_at, received_at, settled_at, attempts, id, webhook, source, server, topic, rule, reason, receipt, payload) VALUES
        (1, 0, 1700000000000, 1700000000000, NULL, 0, x'0194f5d2c6d87f0f8f0e4a2e6b1d9c11', x'0194f5d2c6d87f0f8f0e4a2e6b1d9c01', 'n', 'default', 'first', 'all', NULL, NULL, '{"topic":"first","message":"1"}'),
        (2, 0, 1700000009000, 1700000001000, NULL, 2, x'0194f5d2c6d87f0f8f0e4a2e6b1d9c12', x'0194f5d2c6d87f0f8f0e4a2e6b1d9c02', 'n', 'default', 'second', 'all', '50001 oops', NULL, '{"topic":"second","message":"2"}'),
        (3, 2, 1700000002000, 1700000002000, 1700000003000, 1, x'0194f5d2c6d87f0f8f0e4a2e6b1d9c13', x'0194f5d2c6d87f0f8f0e4a2e6b1d9c03', 'n', 'default', 'third', 'all', '40009 topic invalid', NULL, '{"topic":"third","message":"3"}'),
        (4, 1, 1700000003000, 1700000003000, 1700000003100, 1, x'0194f5d2c6d87f0f8f0e4a2e6b1d9c14', x'0194f5d2c6d87f0f8f0e4a2e6b1d9c04', 'n', 'default', 'fourth', 'all', NULL, 'abc', '{"topic":"fourth","message":"4"}');
    INSERT INTO webhook (id, received_at, source, size, head, body) VALUES
        (x'0194f5d2c6d87f0f8f0e4a2e6b1d9c01', 1700000000000, 'n', 40, '["POST",[],[],[["host","x"]]]', CAST('{"n":1}' AS BLOB));
    PRAGMA application_id = 1213157195;
    PRAGMA user_version = 1;
