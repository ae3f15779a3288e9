-- Which alerts are raised: what the house was told of, and not yet that it is over.
create table alert (
  alert         text not null,
  what          text not null,
  since         timestamptz,                      -- null: nobody knows
  raised_at     timestamptz not null,
  constraint alert_pkey primary key (alert)
);

-- Notices are read in the order of their numbers; the first of each subject is found on the way.
drop index notice_due;
drop index notice_due_at;
create index notice_due on notice (webhook_id, number) where state = 'due';
create index notice_dead on notice (webhook_id, number) where state = 'dead';
