-- kind: expand
-- Answers of screening that wait for a person of the house. A review is known by its check; what is
-- decided is an entry about the address, and another check that stands beside the first.
create table aml_review (
  check_id      text not null,
  customer_id   text not null,
  address       text not null,                     -- the one that was screened
  risk_score    numeric not null,                  -- of the answer that waits
  state         text not null default 'open',
  opened_at     timestamptz not null,
  decision      text,
  reason        text,
  decided_by    text,
  decided_at    timestamptz,
  entry_id      text,                              -- null: left as it is
  next_check_id text,
  constraint aml_review_pkey primary key (check_id),
  constraint aml_review_of_check foreign key (check_id) references aml_check (id),
  constraint aml_review_entry foreign key (entry_id) references aml_entry (id),
  constraint aml_review_next_check foreign key (next_check_id) references aml_check (id),
  constraint aml_review_state check (state in ('open', 'decided')),
  constraint aml_review_decision check (decision in ('allow', 'deny', 'leave')),
  constraint aml_review_decided check (
    (state = 'decided') = (decision is not null) and (state = 'decided') = (reason is not null)
    and (state = 'decided') = (decided_by is not null)
    and (state = 'decided') = (decided_at is not null)),
  constraint aml_review_effect check (
    (entry_id is not null) = (coalesce(decision, 'leave') <> 'leave')
    and (next_check_id is not null) = (entry_id is not null))
);

-- One address of a customer waits once.
create unique index aml_review_open on aml_review (customer_id, address) where state = 'open';
create index aml_review_of_address on aml_review (customer_id, address, check_id);
create index aml_review_by_state on aml_review (state, check_id);

grant select on aml_review to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert on aml_review to penstock_worker;
grant update on aml_review to penstock_admin;
