-- Which alerts are raised: what the house was told of, and not yet that it is over.
create table alert (
  alert         text not null,
  what          text not null,
  since         timestamptz,                      -- null: nobody knows
  raised_at     timestamptz not null,
  constraint alert_pkey primary key (alert)
);

create index notice_dead on notice (webhook_id, number) where state = 'dead';
