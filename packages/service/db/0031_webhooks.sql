-- Where customers, and the house, want to be told of events. A webhook is a reader of the log of
-- events, with a place of its own in it. Its states:
--
--   on <-> off          by its owner
--   on -> disabled      by us: it refused for days, or is gone; its owner puts it on again
--   any -> removed
--
create table webhook (
  id              text not null,
  customer_id     text not null,                     -- 'house': for those who run the service
  url             text not null,
  description     text,
  types           text[],                            -- null: all that its maker may read
  scopes          text[] not null,                   -- what its maker's key may read
  state           text not null default 'on',
  reason          text,                              -- why it is disabled
  at_once         integer not null default 8,        -- calls under way at the same time
  per_second      integer,                           -- calls at most; null: as fast as it answers
  position        bigint not null,                   -- the last event that was looked at for it
  made_at         timestamptz not null,
  failing_since   timestamptz,                       -- since when all calls have failed
  failed_in_a_row integer not null default 0,
  slow_until      timestamptz,                       -- until then it is called half as fast
  paused_until    timestamptz,                       -- not called until then: it asked for that
  called_at       timestamptz,                       -- when it was last called
  leased_until    timestamptz,                       -- until then one process has it
  leased_by       text,
  constraint webhook_pkey primary key (id),
  constraint webhook_url_length check (length(url) between 1 and 512),
  constraint webhook_description_length check (length(description) <= 200),
  constraint webhook_state check (state in ('on', 'off', 'disabled', 'removed')),
  constraint webhook_disabled_has_reason check ((state = 'disabled') = (reason is not null)),
  constraint webhook_at_once_range check (at_once between 1 and 16),
  constraint webhook_per_second_range check (per_second between 1 and 1000)
);

create index webhook_of_customer on webhook (customer_id, id);
create index webhook_on on webhook (customer_id) where state = 'on';

-- What signs a webhook's calls: one, or two while its owner changes from one to the other.
create table webhook_secret (
  webhook_id      text not null,
  number          integer not null,                  -- 1, 2, 3, ...
  sealed_secret   text not null,
  made_at         timestamptz not null,
  until           timestamptz,                       -- null: until it is rotated
  constraint webhook_secret_pkey primary key (webhook_id, number),
  constraint webhook_secret_of_webhook foreign key (webhook_id) references webhook (id)
);

-- One event for one webhook.
--
--   due -> delivered | dead (the schedule is used up) | passed (the webhook is off, or was removed)
--    ^-------'------------'    (replayed)
--
create table notice (
  webhook_id      text not null,
  number          bigint not null,                   -- of the event
  event_id        text not null,
  type            text not null,
  subject         text not null,
  state           text not null default 'due',
  calls           integer not null default 0,        -- in this round of the schedule
  due_at          timestamptz not null,
  constraint notice_pkey primary key (webhook_id, number),
  constraint notice_of_webhook foreign key (webhook_id) references webhook (id),
  constraint notice_state check (state in ('due', 'delivered', 'dead', 'passed'))
);

create index notice_due on notice (webhook_id, subject, number) where state = 'due';
create index notice_due_at on notice (webhook_id, due_at) where state = 'due';

-- One call of a notice and what came of it.
create table webhook_call (
  webhook_id      text not null,
  number          bigint not null,
  at              timestamptz not null,
  ms              integer not null,
  status          integer,                           -- of the answer; null: there was none
  error           text,
  body            text,                              -- the beginning of the answer
  constraint webhook_call_pkey primary key (webhook_id, number, at),
  constraint webhook_call_body_length check (length(body) <= 1024)
);

create index webhook_call_by_time on webhook_call (at);

-- Networks that are not public, and that the webhooks of one customer may call all the same.
create table webhook_network (
  customer_id     text not null,
  network         text not null,
  made_at         timestamptz not null,
  constraint webhook_network_pkey primary key (customer_id, network)
);

-- Keys may be given more than reading, buying and screening. A key without a list has those three
-- and no more.
alter table api_key drop constraint api_key_scopes_known;
alter table api_key add constraint api_key_scopes_known
  check (scopes <@ array['read', 'buy', 'aml', 'money', 'webhooks', 'manage']
    and cardinality(scopes) > 0);
