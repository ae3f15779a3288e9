-- kind: expand
-- A watch has rules of its own, and says when it is due: nothing looks at all watches to find out.
-- Those that are there are screened again once.
alter table aml_watch
  add column due_at timestamptz not null default '-infinity',
  add column reference text,
  add column any_incoming_usd bigint,
  add column severe_share_bp integer,
  add column severe_usd bigint,
  add column sent_to boolean not null default false,
  -- What the last answer said of these two.
  add column seen_share_bp integer,
  add column seen_usd bigint,
  add constraint aml_watch_any_incoming check (any_incoming_usd >= 0),
  add constraint aml_watch_severe_share check (severe_share_bp between 1 and 10000),
  add constraint aml_watch_severe_usd check (severe_usd >= 1);
create index aml_watch_due on aml_watch (due_at);
create index aml_watch_of_check on aml_watch (check_id);
create index aml_watch_in_order on aml_watch (customer_id, made_at, address);
-- A customer's call gives a watch that is there other rules.
grant update (label_set, reference, any_incoming_usd, severe_share_bp, severe_usd, sent_to,
  seen_share_bp, seen_usd) on aml_watch to penstock_api;
