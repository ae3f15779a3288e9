-- When the newest block came, by our own clock: a node that answers and stands still says nothing about now.
alter table chain add column head_seen_at timestamptz not null default now();
