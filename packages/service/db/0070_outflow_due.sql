-- kind: expand
-- When the fee of what has left a deposit address is asked for again, and since when it is.
alter table deposit_outflow add column seen_at timestamptz default now() not null;
alter table deposit_outflow add column due_at timestamptz default now() not null;
