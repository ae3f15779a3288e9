-- What the status page shows: how long things took and whether they went, minute by minute, and
-- what the operator says of it.

-- Counts of a minute, an hour or a day (UTC). Of a latency: how many were in each bucket, the last
-- but one beyond every bound, the last those that failed. Of a part of the service: the minutes in
-- which it was up, slow and down. Of processes: in how many of a minute's twelve parts of five
-- seconds they were there. What is longer is the sum of what is shorter.
create table metric (
  span          text not null,
  at            timestamptz not null,              -- when it begins
  metric        text not null,
  counts        integer[] not null,
  constraint metric_pkey primary key (span, at, metric),
  constraint metric_span check (span in ('minute', 'hour', 'day')),
  constraint metric_not_negative check (0 <= all (counts))
);

-- Up to where minutes were measured; nothing is said of the time before the first of them.
create table metric_progress (
  one           boolean not null default true,
  begun_at      timestamptz not null,
  until         timestamptz not null,
  constraint metric_progress_pkey primary key (one),
  constraint metric_progress_has_one_row check (one),
  constraint metric_progress_after_its_begin check (until >= begun_at)
);

-- What the operator tells everybody. Kept for good.
create table incident (
  id            text not null,
  title         text not null,
  what          text not null,
  parts         text[] not null,                   -- of the service
  began_at      timestamptz not null,
  posted_at     timestamptz not null,
  closed_at     timestamptz,
  outcome       text,                              -- what was said when it was closed
  constraint incident_pkey primary key (id),
  constraint incident_title_length check (length(title) between 1 and 120),
  constraint incident_what_length check (length(what) between 1 and 2000),
  constraint incident_outcome_length check (length(outcome) <= 2000),
  constraint incident_closed_after_its_begin check (closed_at >= began_at),
  constraint incident_outcome_when_closed check (outcome is null or closed_at is not null)
);
create index incident_open on incident (began_at) where closed_at is null;
create index incident_by_time on incident (began_at);

-- What of it the operator does not show. Outages are always shown.
create table status_page (
  one           boolean not null default true,
  pool_shown    boolean not null default true,
  prices_shown  boolean not null default true,
  constraint status_page_pkey primary key (one),
  constraint status_page_has_one_row check (one)
);
insert into status_page default values;

-- Everything that was noted, whether it has its number yet or not.
create view noted_event as
  select customer_id, type, subject, at, test from event
  union all
  select customer_id, type, subject, at, test from event_note;
