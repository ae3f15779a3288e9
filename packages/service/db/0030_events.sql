-- What happened, told once. A note is written in the transaction that changes the state; the step
-- `publish` gives each customer's notes the next numbers, in the order in which they were written.

-- A note has no number yet. Its id says only which of two notes of one transaction, or of one
-- subject, came first.
create table event_note (
  id            bigint generated always as identity,
  customer_id   text not null,                     -- 'house': for those who run the service
  type          text not null,
  subject       text not null,                     -- what it is about: 'order:...', 'deposit:...'
  at            timestamptz not null,
  test          boolean not null default false,    -- nothing happened: somebody tries a webhook
  data          text,                              -- JSON; null: as the subject's endpoint answers
  detail        text,                              -- JSON: an object whose fields are added to that
  constraint event_note_pkey primary key (id)
);

-- Numbered 1, 2, 3, ... for each customer, without gaps. Only ever added to, and pruned after its
-- time.
create table event (
  customer_id   text not null,
  number        bigint not null,
  id            text not null,
  type          text not null,
  subject       text not null,
  at            timestamptz not null,
  test          boolean not null,
  data          text not null,                     -- JSON
  constraint event_data_length check (length(data) <= 20000),
  constraint event_pkey primary key (customer_id, number),
  constraint event_id_once unique (id)
);

create index event_by_subject on event (customer_id, subject, number);
create index event_by_time on event (at);

-- The number of each customer's newest event.
create table event_counter (
  customer_id   text not null,
  last_number   bigint not null,
  constraint event_counter_pkey primary key (customer_id),
  constraint event_counter_positive check (last_number > 0)
);

-- Whoever numbers holds this row: one at a time, so that nobody sees 9 before 8.
create table event_publisher (
  one           boolean not null default true,
  constraint event_publisher_pkey primary key (one),
  constraint event_publisher_has_one_row check (one)
);

insert into event_publisher default values;
