-- What operators have changed: who, why, and what it was before. Written in the transaction of the change itself.
--
-- The rows are numbered without gaps, and each has the SHA-256 of itself and of the one before, so a row that is changed,
-- taken out or put in later shows, to whoever has noted a later sum (`penstock books check` prints the last one).

create table operator_action (
  number      bigint not null,                     -- given by the trigger: 1, 2, 3, …
  made_at     timestamptz not null,
  made_by     text not null,
  reason      text,
  action      text not null,                       -- the command: 'prices set'
  subject     text not null,                       -- what was changed: 'price:energy', 'customer:01j…', 'service:energy'
  before      jsonb,
  after       jsonb,
  sha256      text not null,
  constraint operator_action_pkey primary key (number),
  constraint operator_action_made_by_length check (char_length(made_by) between 1 and 100),
  constraint operator_action_reason_length check (char_length(reason) between 1 and 500)
);

create index operator_action_of_subject on operator_action (subject, number);

-- The time goes in as seconds since 1970: as text it would depend on the session's time zone.
create function operator_action_sum(previous text, of operator_action) returns text language sql stable as $$
  select encode(sha256(convert_to(previous || jsonb_build_array(of.number, extract(epoch from of.made_at), of.made_by,
    of.reason, of.action, of.subject, of.before, of.after)::text, 'UTF8')), 'hex')
$$;

-- The lock lets one change after another take the next number; a lock on the table would deadlock with its own insert.
create function chain_operator_action() returns trigger language plpgsql as $$
declare
  previous operator_action;
begin
  perform pg_advisory_xact_lock(7204615093);
  select * into previous from operator_action order by number desc limit 1;
  new.number := coalesce(previous.number, 0) + 1;
  new.sha256 := operator_action_sum(coalesce(previous.sha256, ''), new);
  return new;
end $$;

create trigger operator_action_is_chained before insert on operator_action
  for each row execute function chain_operator_action();
create trigger operator_action_is_append_only before update or delete on operator_action
  for each row execute function refuse_change();
create trigger operator_action_is_not_truncated before truncate on operator_action
  for each statement execute function refuse_change();
