-- A second pair of eyes: from an amount on, one operator proposes a correction and another one
-- approves it within an hour.

-- What is asked for, from when on; the last row is in force, and without one nothing is.
create table approval_rule (
  since         timestamptz not null,
  second        text not null,                     -- none; name: another name must approve; role:
                                                   -- also another role of the database
  from_sun      bigint not null,                   -- corrections of so much, either way
  set_by        text not null,
  constraint approval_rule_pkey primary key (since),
  constraint approval_rule_second check (second in ('none', 'name', 'role')),
  constraint approval_rule_from check (from_sun >= 0)
);
create trigger approval_rule_is_append_only before update or delete on approval_rule
  for each row execute function refuse_change();
create trigger approval_rule_is_not_truncated before truncate on approval_rule
  for each statement execute function refuse_change();

-- A correction that waits for a second operator, until its hour is over.
create table correction_proposal (
  id            text not null,                     -- that the correction will have
  customer_id   text not null,
  amount_sun    bigint not null,
  reason        text not null,
  proposed_at   timestamptz not null,
  proposed_by   text not null,
  proposed_role text not null,                     -- the role that logged in
  ends_at       timestamptz not null,
  approved_at   timestamptz,
  approved_by   text,
  approved_role text,
  constraint correction_proposal_pkey primary key (id),
  constraint correction_proposal_id_length check (char_length(id) between 1 and 100),
  constraint correction_proposal_of_customer foreign key (customer_id) references customer (id),
  constraint correction_proposal_of_something check (amount_sun <> 0),
  constraint correction_proposal_approved check (
    (approved_at is null) = (approved_by is null)
    and (approved_at is null) = (approved_role is null)),
  constraint correction_proposal_in_time
    check (ends_at > proposed_at and approved_at < ends_at),
  constraint correction_proposal_by_another
    check (lower(btrim(approved_by)) <> lower(btrim(proposed_by)))
);
create index correction_proposal_by_time on correction_proposal (proposed_at);
