-- kind: expand
-- Rules from now on count together what was corrected within a day: many small amounts are one. A
-- rule from before goes on so.
alter table approval_rule add column summed boolean not null default false;
insert into approval_rule (since, second, from_sun, set_by, summed)
select greatest(now(), since + interval '1 millisecond'), second, from_sun, set_by, true
from approval_rule where second <> 'none' and since = (select max(since) from approval_rule);

-- What else wants a second operator: it is proposed, another allows it, and who has proposed it
-- then does it, once.
create table operation_proposal (
  id             text not null,
  action         text not null,             -- the command: `keys issue`
  body           jsonb not null,            -- and all that it was given
  reason         text,
  proposed_at    timestamptz not null,
  proposed_by    text not null,
  proposed_role  text not null,             -- as the database saw it
  ends_at        timestamptz not null,
  approved_at    timestamptz,
  approved_by    text,
  approved_role  text,
  used_at        timestamptz,
  constraint operation_proposal_pkey primary key (id),
  constraint operation_proposal_approval_whole check (
    num_nulls(approved_at, approved_by, approved_role) in (0, 3)),
  constraint operation_proposal_approved_first check (used_at is null or approved_at is not null)
);
create index operation_proposal_by_time on operation_proposal (proposed_at);
grant select on operation_proposal to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert, update on operation_proposal to penstock_admin;
