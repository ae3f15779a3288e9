-- What happened on a customer's account in an hour or a day (UTC), and the figures at its end, from
-- which statements go on. A row is written once the time is over and every entry of it is sealed,
-- so it never changes; where nothing happened there is none.
create table summary (
  customer_id     text not null,
  bucket          text not null,
  at              timestamptz not null,              -- when it begins
  orders          integer not null,                  -- placed
  succeeded       integer not null,                  -- delivered and charged
  failed          integer not null,                  -- given back
  energy          bigint not null,                   -- of those that succeeded
  bandwidth       bigint not null,
  spent_sun       bigint not null,
  deposited_sun   bigint not null,
  p50_ms          integer,                           -- from placed to charged
  p95_ms          integer,
  balance_sun     bigint not null,                   -- at the end
  spendable_sun   bigint not null,
  constraint summary_pkey primary key (customer_id, bucket, at),
  constraint summary_bucket check (bucket in ('hour', 'day'))
);
create index summary_by_time on summary (bucket, at);

-- Up to when they are written.
create table summary_progress (
  bucket          text not null,
  until           timestamptz not null,
  constraint summary_progress_pkey primary key (bucket),
  constraint summary_progress_bucket check (bucket in ('hour', 'day'))
);
