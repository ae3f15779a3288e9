-- What the database lacks although a process was told that it had been committed: a fail-over to a
-- server that had less, or an old primary that came back. Nothing is changed for customers until an
-- operator has accepted it.
create table database_loss (
  process_id  text not null,
  found_at    timestamptz not null,
  host        text not null,
  role        text not null,
  beat        bigint not null,      -- the last one of the process that was acknowledged
  beat_found  bigint,               -- the one that its row has; null: there is no row
  missing     text[] not null,      -- what customers were told of and is not there: order:ID ...
  accepted_at timestamptz,
  constraint database_loss_pkey primary key (process_id, found_at),
  constraint database_loss_beat check (beat >= 0)
);
create index database_loss_open on database_loss (found_at) where accepted_at is null;
