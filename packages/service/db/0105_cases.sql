-- kind: expand
-- Cases: what an officer of the house looks into, from an alert or an answer that waits until it is
-- closed. One address of a customer has one case that is not closed.
create table aml_case (
  id               text not null,
  customer_id      text,                            -- null: of no customer
  address          text not null,
  state            text not null default 'open',
  priority         text not null,
  risk_level       text,                            -- the worst of its checks; null: not known
  owner            text,                            -- with whom it is
  escalated_by     text,                            -- this one may neither own nor close it
  due_at           timestamptz not null,
  reminded_at      timestamptz,                     -- null: not yet late, or not yet told
  report_reference text,                            -- of the report to the authority
  opened_at        timestamptz not null,
  opened_by        text not null,
  closed_at        timestamptz,
  closed_by        text,
  code             text,
  constraint aml_case_pkey primary key (id),
  constraint aml_case_of_customer foreign key (customer_id) references customer (id),
  constraint aml_case_state check (state in ('open', 'assigned', 'waiting', 'escalated', 'closed')),
  constraint aml_case_priority check (priority in ('low', 'normal', 'high', 'urgent')),
  constraint aml_case_level check (risk_level in ('low', 'medium', 'high')),
  constraint aml_case_code check (code in ('false_positive', 'explained', 'barred', 'reported')),
  constraint aml_case_owned check (
    (state in ('assigned', 'waiting') and owner is not null)
    or (state in ('open', 'escalated') and owner is null) or state = 'closed'),
  constraint aml_case_escalated check (state <> 'escalated' or escalated_by is not null),
  constraint aml_case_by_another check (
    lower(btrim(owner)) <> lower(btrim(escalated_by))
    and lower(btrim(closed_by)) <> lower(btrim(escalated_by))),
  constraint aml_case_closed check (
    num_nulls(closed_at, closed_by, code) = case when state = 'closed' then 0 else 3 end),
  constraint aml_case_reported check (code <> 'reported' or report_reference is not null),
  constraint aml_case_texts check (char_length(owner) between 1 and 100
    and char_length(report_reference) between 1 and 200)
);
create unique index aml_case_once on aml_case (coalesce(customer_id, ''), address)
  where state <> 'closed';
create index aml_case_of_address on aml_case (address, id);
create index aml_case_by_state on aml_case (state, id);
create index aml_case_late on aml_case (due_at) where state <> 'closed' and reminded_at is null;

-- What a case is about beside its address.
create table aml_case_subject (
  case_id  text not null,
  kind     text not null,
  subject  text not null,
  added_at timestamptz not null,
  added_by text not null,
  constraint aml_case_subject_pkey primary key (case_id, kind, subject),
  constraint aml_case_subject_of_case foreign key (case_id) references aml_case (id),
  constraint aml_case_subject_kind check (kind in ('address', 'check', 'deposit'))
);
create index aml_case_subject_by_subject on aml_case_subject (kind, subject);

-- What was done and said in a case, in order: never changed.
create table aml_case_entry (
  case_id text not null,
  number  integer not null,
  kind    text not null,
  at      timestamptz not null,
  made_by text not null,
  text    text not null,
  name    text,                                     -- of a file
  sha256  text,                                     -- of a file's text in UTF-8
  constraint aml_case_entry_pkey primary key (case_id, number),
  constraint aml_case_entry_of_case foreign key (case_id) references aml_case (id),
  constraint aml_case_entry_kind check (kind in ('opened', 'review', 'alert', 'added', 'assigned',
    'waiting', 'escalated', 'changed', 'late', 'note', 'file', 'closed', 'reopened')),
  constraint aml_case_entry_file check ((kind = 'file') = (name is not null)
    and (kind = 'file') = (sha256 is not null)),
  constraint aml_case_entry_lengths check (char_length(name) between 1 and 200
    and char_length(text) <= case when kind = 'file' then 100000 else 4000 end)
);
create trigger aml_case_entry_is_append_only before delete or update on aml_case_entry
  for each row execute function refuse_change();
create trigger aml_case_entry_is_not_truncated before truncate on aml_case_entry
  for each statement execute function refuse_change();

-- Alerts of watches about severe money, until they are in a case.
create table aml_case_alert (
  id          bigint generated always as identity,
  customer_id text not null,
  address     text not null,
  at          timestamptz not null,
  text        text not null,
  constraint aml_case_alert_pkey primary key (id)
);

-- As for corrections: nobody allows what the same name has proposed.
alter table operation_proposal add constraint operation_proposal_by_another
  check (lower(btrim(approved_by)) <> lower(btrim(proposed_by)));

grant select on aml_case, aml_case_subject, aml_case_entry
  to penstock_worker, penstock_admin, penstock_read;
grant insert on aml_case, aml_case_subject, aml_case_entry to penstock_worker, penstock_admin;
grant update on aml_case to penstock_worker, penstock_admin;
grant select, insert, update, delete on aml_case_alert to penstock_worker;
grant select on aml_case_alert to penstock_admin, penstock_read;
