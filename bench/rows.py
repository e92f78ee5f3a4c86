"""Rows in bulk, made inside PostgreSQL: pictures with their panels, answers given, and the audit afterwards."""

EMPTY = """
TRUNCATE labeling_response, labeling_assignment, labeling_panelplace, labeling_panel, labeling_image CASCADE;
UPDATE labeling_tasker SET passed = '{}', passed_at = NULL;
"""

# Dealt by 500 at once, as the sweep does, the last ones an hour ago.
PICTURES = """
INSERT INTO labeling_image (id, public_id, pixels_sha256, original_sha256, original_format, width, height, origin,
    source, source_id, licence, author, received_at, label_from, dealt_at)
  SELECT n, 'P-' || lpad(n::text, 8, '0'), encode(sha256(n::text::bytea), 'hex'), encode(sha256(n::text::bytea), 'hex'),
    'PNG', {size}, {size}, 'dataset', 'bench', '', 'CC0', '', {received}, {received}, {received}
  FROM generate_series(1, {pictures}) AS n;
INSERT INTO labeling_panel (id, image_id, number, size, answered, leased, missing, state, dealt_at, waiting_since)
  SELECT id, id, 1, 3, 0, 0, 3, 'open', at, at
  FROM (SELECT id, dealt_at + ((id - 1) / 500) * interval '1 ms' AS at FROM labeling_image) AS dealt;
INSERT INTO labeling_panelplace (panel_id, number)
  SELECT p.id, n FROM labeling_panel p, generate_series(1, 3) AS n ORDER BY p.id, n;
SELECT setval(pg_get_serial_sequence('labeling_image', 'id'), {pictures});
SELECT setval(pg_get_serial_sequence('labeling_panel', 'id'), {pictures});
"""

# Tasker `tasker` has answered the first `answers` pictures, a second apart, and nobody else any of them.
AHEAD = """
INSERT INTO labeling_assignment (public_id, panel_id, image_id, tasker_id, person, lease_token, state, slot, tie_break,
    leased_at, expires_at, ended_at, problem)
  SELECT gen_random_uuid(), p.id, p.image_id, {tasker}, {tasker}, '', 'answered', 1, 'leftmost', at, at, at, ''
  FROM (SELECT *, now() - interval '1 hour' + id * interval '300 ms' AS at FROM labeling_panel
        ORDER BY id LIMIT {answers}) AS p;
INSERT INTO labeling_response (assignment_id, image_id, panel_id, tasker_id, place_id, contains_bird, contains_bicycle,
    outline, milliseconds, submitted_at, answers_sha256, receipt)
  SELECT a.id, a.image_id, a.panel_id, a.tasker_id, p.id, 'definitely_no', 'definitely_no', '', 1000, a.ended_at,
    repeat('0', 64), 'bulk'
  FROM labeling_assignment a JOIN labeling_panelplace p ON p.panel_id = a.panel_id AND p.number = 1;
UPDATE labeling_panel p SET answered = 1, missing = 2, waiting_since = a.ended_at
  FROM labeling_assignment a WHERE a.panel_id = p.id;
"""

FLOOR_EMPTY = "TRUNCATE floor_answer, floor_lease, floor_item CASCADE"
FLOOR_ITEMS = "INSERT INTO floor_item (free) SELECT 3 FROM generate_series(1, {pictures}) AS n"
FLOOR_AHEAD = """
INSERT INTO floor_answer (item_id, user_id, body)
  SELECT id, {tasker}, '{{}}' FROM floor_item ORDER BY id LIMIT {answers};
UPDATE floor_item SET free = free - 1, answered = 1 WHERE id IN (SELECT item_id FROM floor_answer);
"""

# Each statement counts what must not be there.
AUDIT = {
    "panels with more counted answers than places": """
        SELECT count(*) FROM (SELECT 1 FROM labeling_response r JOIN labeling_panel p ON p.id = r.panel_id
          WHERE r.place_id IS NOT NULL GROUP BY p.id HAVING count(*) > p.size) AS over""",
    "pictures answered twice by one tasker": """
        SELECT count(*) FROM (SELECT 1 FROM labeling_response GROUP BY image_id, tasker_id
          HAVING count(*) > 1) AS twice""",
    "places filled twice": """
        SELECT count(*) FROM (SELECT 1 FROM labeling_response WHERE place_id IS NOT NULL GROUP BY place_id
          HAVING count(*) > 1) AS twice""",
    "panels whose counters are wrong": """
        SELECT count(*) FROM labeling_panel p WHERE
          answered <> (SELECT count(place_id) FROM labeling_response r WHERE r.panel_id = p.id) OR
          leased <> (SELECT count(*) FROM labeling_assignment a WHERE a.panel_id = p.id AND a.state = 'leased') OR
          (state = 'open') <> (answered < size)""",
    "answered assignments without an answer": """
        SELECT count(*) FROM labeling_assignment a WHERE state = 'answered'
          AND NOT EXISTS (SELECT 1 FROM labeling_response r WHERE r.assignment_id = a.id)""",
}
FLOOR_AUDIT = {
    "items with more than three answers": """
        SELECT count(*) FROM (SELECT 1 FROM floor_answer GROUP BY item_id HAVING count(*) > 3) AS over""",
    "items answered twice by one user": """
        SELECT count(*) FROM (SELECT 1 FROM floor_answer GROUP BY item_id, user_id HAVING count(*) > 1) AS twice""",
}
