-- The processes that run: each says so once a second, by the clock of the database.
create table process (
  id                   text not null,
  role                 text not null,              -- api, worker or all
  host                 text not null,
  version              text not null,
  schema               integer not null,           -- the newest migration that it knows
  started_at           timestamptz not null,
  seen_at              timestamptz not null,
  beat                 bigint not null,            -- how often it has said so
  standbys             integer not null,           -- how many it was told to ask for
  clock_offset_ms      bigint not null,            -- of the database's clock to its own
  unreplicated_commits bigint not null,            -- since its start
  constraint process_pkey primary key (id),
  constraint process_counts check (least(beat, standbys, unreplicated_commits) >= 0)
);
